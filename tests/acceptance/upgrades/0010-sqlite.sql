BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0010');
CREATE TABLE counters (
	name TEXT NOT NULL, 
	value BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "counters" VALUES('resources',31);
INSERT INTO "counters" VALUES('events',85);
INSERT INTO "counters" VALUES('catalog',8);
INSERT INTO "counters" VALUES('min_compatible',1);
INSERT INTO "counters" VALUES('events_pruned',0);
CREATE TABLE default_revisions (
	kind TEXT NOT NULL, 
	kind_version INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	PRIMARY KEY (kind, kind_version)
);
INSERT INTO "default_revisions" VALUES('leaf',1,1);
CREATE TABLE deliveries (
	id INTEGER NOT NULL, 
	binding TEXT NOT NULL, 
	transition TEXT NOT NULL, 
	reactor TEXT NOT NULL, 
	reactor_version INTEGER, 
	dedup_token TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	uid TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	kind_version INTEGER NOT NULL, 
	generation BIGINT NOT NULL, 
	synced_gen BIGINT NOT NULL, 
	phase TEXT NOT NULL, 
	labels TEXT NOT NULL, 
	owner_uid TEXT, 
	root_uid TEXT, 
	spec TEXT, 
	status TEXT, 
	dead_at BIGINT, 
	attempts INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	message TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "deliveries" VALUES(20,'b','created','ear',NULL,'018bcfe5-6800-79d0-a039-4cb1fcde1ad1:created:1:1:b',1700000000000,'018bcfe5-6800-79d0-a039-4cb1fcde1ad1','leaf','dead',1,1,0,'Reconciling','{}',NULL,NULL,'{}',NULL,1700000000000,1,'ReactorFailed','nobody listens');
INSERT INTO "deliveries" VALUES(22,'b','created','ear',NULL,'018bcfe5-6800-70b8-8add-383954485012:created:1:1:b',1700000000000,'018bcfe5-6800-70b8-8add-383954485012','leaf','told',1,1,0,'Reconciling','{}',NULL,NULL,'{}',NULL,NULL,0,'','');
INSERT INTO "deliveries" VALUES(24,'b','created','ear',NULL,'018bcfe5-6800-7a63-af2b-bc6f03a65e42:created:1:1:b',1700000000000,'018bcfe5-6800-7a63-af2b-bc6f03a65e42','leaf','retrying',1,1,0,'Reconciling','{}',NULL,NULL,'{}',NULL,NULL,0,'','');
INSERT INTO "deliveries" VALUES(26,'b','created','ear',NULL,'018bcfe5-6800-7708-abb3-dabf4db69b2a:created:1:1:b',1700000000000,'018bcfe5-6800-7708-abb3-dabf4db69b2a','leaf','leased',1,1,0,'Reconciling','{}',NULL,NULL,'{}',NULL,NULL,0,'','');
INSERT INTO "deliveries" VALUES(29,'b','created','ear',NULL,'018bcfe5-6800-764c-af7d-3e8a9ac26f29:created:1:1:b',1700000000000,'018bcfe5-6800-764c-af7d-3e8a9ac26f29','leaf','h',1,1,0,'Reconciling','{}','018bcfe5-6800-7a50-88d3-38bf73d2d788','018bcfe5-6800-7a50-88d3-38bf73d2d788','{}',NULL,NULL,0,'','');
INSERT INTO "deliveries" VALUES(31,'b','created','ear',NULL,'018bcfe5-6800-7548-af6d-826ee0c1f9b3:created:1:1:b',1700000000000,'018bcfe5-6800-7548-af6d-826ee0c1f9b3','leaf','new',1,1,0,'Reconciling','{}',NULL,NULL,'{}',NULL,NULL,0,'','');
CREATE TABLE edges (
	dependent_id INTEGER NOT NULL, 
	dependency_id INTEGER NOT NULL, 
	owner_id INTEGER NOT NULL, 
	flows TEXT NOT NULL, 
	PRIMARY KEY (dependent_id, dependency_id)
)
 WITHOUT ROWID

;
INSERT INTO "edges" VALUES(7,6,4,'[["/from", "/id"]]');
CREATE TABLE events (
	seq INTEGER NOT NULL, 
	kind TEXT, 
	name TEXT, 
	uid TEXT, 
	type TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	message TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	created_at BIGINT NOT NULL, audited BOOLEAN DEFAULT 0 NOT NULL, 
	PRIMARY KEY (seq)
);
INSERT INTO "events" VALUES(1,'leaf',NULL,NULL,'KindPublished','','leaf@1','test','{"kind_version":1}',1700000000000,1);
INSERT INTO "events" VALUES(2,'vm',NULL,NULL,'KindPublished','','vm@1','test','{"kind_version":1}',1700000000000,1);
INSERT INTO "events" VALUES(3,'group',NULL,NULL,'KindPublished','','group@1','test','{"kind_version":1}',1700000000000,1);
INSERT INTO "events" VALUES(4,'tree',NULL,NULL,'KindPublished','','tree@1','test','{"kind_version":1}',1700000000000,1);
INSERT INTO "events" VALUES(5,'leaf','d',NULL,'ConfigCreated','','d for leaf@1','ada','{}',1700000000000,1);
INSERT INTO "events" VALUES(6,'leaf','o',NULL,'ConfigCreated','','o for leaf@1','ada','{}',1700000000000,1);
INSERT INTO "events" VALUES(7,'leaf','ready','018bcfe5-6800-7849-b134-92cf8698da2c','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(8,'leaf','configured','018bcfe5-6800-7eb4-b9a9-a4f303d621d8','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(9,'leaf','sick','018bcfe5-6800-78f6-83a2-d97603902e32','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(10,'group','g','018bcfe5-6800-7920-a6b5-3c23dc0592eb','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(11,'tree','t','018bcfe5-6800-7f8b-b98b-b3520f521a9e','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(12,'leaf','a','018bcfe5-6800-75ce-983c-5016f66c11d7','Created','','','engine','{"owner":"group/g"}',1700000000000,0);
INSERT INTO "events" VALUES(13,'leaf','b','018bcfe5-6800-7fe1-8086-8937f461f692','Created','','','engine','{"owner":"group/g"}',1700000000000,0);
INSERT INTO "events" VALUES(14,'vm','c','018bcfe5-6800-7121-8e6f-17c34e18eba4','Created','','','engine','{"owner":"group/g"}',1700000000000,0);
INSERT INTO "events" VALUES(15,'group','g','018bcfe5-6800-7920-a6b5-3c23dc0592eb','Composed','','','engine','{"created":3,"changed":0,"dropped":0}',1700000000000,0);
INSERT INTO "events" VALUES(16,'leaf','ready','018bcfe5-6800-7849-b134-92cf8698da2c','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(17,'leaf','configured','018bcfe5-6800-7eb4-b9a9-a4f303d621d8','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(18,'leaf','sick','018bcfe5-6800-78f6-83a2-d97603902e32','PhaseChanged','Degraded','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(19,'group','inner','018bcfe5-6800-76c0-b379-9c9fba17b998','Created','','','engine','{"owner":"tree/t"}',1700000000000,0);
INSERT INTO "events" VALUES(20,'tree','t','018bcfe5-6800-7f8b-b98b-b3520f521a9e','Composed','','','engine','{"created":1,"changed":0,"dropped":0}',1700000000000,0);
INSERT INTO "events" VALUES(21,'leaf','deep','018bcfe5-6800-7640-ab3a-66d3642b1065','Created','','','engine','{"owner":"group/inner"}',1700000000000,0);
INSERT INTO "events" VALUES(22,'group','inner','018bcfe5-6800-76c0-b379-9c9fba17b998','Composed','','','engine','{"created":1,"changed":0,"dropped":0}',1700000000000,0);
INSERT INTO "events" VALUES(23,'leaf','a','018bcfe5-6800-75ce-983c-5016f66c11d7','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(24,'leaf','b','018bcfe5-6800-7fe1-8086-8937f461f692','SpecChanged','','','engine','{"generation":2}',1700000000000,0);
INSERT INTO "events" VALUES(25,'vm','c','018bcfe5-6800-7121-8e6f-17c34e18eba4','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(26,'leaf','deep','018bcfe5-6800-7640-ab3a-66d3642b1065','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(27,'group','inner','018bcfe5-6800-76c0-b379-9c9fba17b998','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(28,'leaf','b','018bcfe5-6800-7fe1-8086-8937f461f692','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(29,'group','g','018bcfe5-6800-7920-a6b5-3c23dc0592eb','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(30,'tree','t','018bcfe5-6800-7f8b-b98b-b3520f521a9e','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(31,'leaf','ready','018bcfe5-6800-7849-b134-92cf8698da2c','SpecChanged','','','test','{"generation":2}',1700000000000,1);
INSERT INTO "events" VALUES(32,'leaf','ready','018bcfe5-6800-7849-b134-92cf8698da2c','PhaseChanged','Reconciling','','test','{"previous":"Ready"}',1700000000000,0);
INSERT INTO "events" VALUES(33,'leaf','ready','018bcfe5-6800-7849-b134-92cf8698da2c','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(34,'leaf','failed','018bcfe5-6800-7874-ad3e-25332cfcc696','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(35,'leaf','failed','018bcfe5-6800-7874-ad3e-25332cfcc696','TaskFailed','NoZone','there is no such zone','engine','{"stage":"work","terminal":true,"attempts":0}',1700000000000,0);
INSERT INTO "events" VALUES(36,'leaf','failed','018bcfe5-6800-7874-ad3e-25332cfcc696','PhaseChanged','Failed','there is no such zone','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(37,'group','stuck','018bcfe5-6800-7bbe-8f38-8abcc06fc9bc','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(38,'group','stuck','018bcfe5-6800-7bbe-8f38-8abcc06fc9bc','TaskFailed','NotOwned','leaf/ready exists and is not owned by group/stuck','engine','{"stage":"compose","terminal":true,"attempts":0}',1700000000000,0);
INSERT INTO "events" VALUES(39,'group','stuck','018bcfe5-6800-7bbe-8f38-8abcc06fc9bc','PhaseChanged','Failed','leaf/ready exists and is not owned by group/stuck','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(40,'vm','going','018bcfe5-6800-7728-b1ad-bbf43295e598','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(41,'vm','going','018bcfe5-6800-7728-b1ad-bbf43295e598','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(42,'vm','going','018bcfe5-6800-7728-b1ad-bbf43295e598','DeleteRequested','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(43,'vm','going','018bcfe5-6800-7728-b1ad-bbf43295e598','PhaseChanged','Deleting','','test','{"previous":"Ready"}',1700000000000,0);
INSERT INTO "events" VALUES(44,'vm','going','018bcfe5-6800-7728-b1ad-bbf43295e598','TaskFailed','ReconcileError','it is in use','engine','{"stage":"delete","terminal":false,"attempts":1}',1700000000000,0);
INSERT INTO "events" VALUES(45,'vm','poked','018bcfe5-6800-75ee-beec-439f22529929','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(46,'vm','poked','018bcfe5-6800-75ee-beec-439f22529929','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(47,'vm','poked','018bcfe5-6800-75ee-beec-439f22529929','OperationRequested','','poke','someone','{"operation":"018bcfe5-6800-7620-ba0e-87e8e7260492"}',1700000000000,1);
INSERT INTO "events" VALUES(48,'vm','poked','018bcfe5-6800-75ee-beec-439f22529929','OperationSucceeded','','poke','engine','{"operation":"018bcfe5-6800-7620-ba0e-87e8e7260492","verb":"poke"}',1700000000000,0);
INSERT INTO "events" VALUES(49,'vm','poked','018bcfe5-6800-75ee-beec-439f22529929','OperationRequested','','poke','someone','{"operation":"018bcfe5-6800-7554-9d0c-d1a85a965259"}',1700000000000,1);
INSERT INTO "events" VALUES(50,'vm','poked','018bcfe5-6800-75ee-beec-439f22529929','OperationRequested','','poke','someone','{"operation":"018bcfe5-6800-7a98-9752-b0a6a760758f"}',1700000000000,1);
INSERT INTO "events" VALUES(51,'kept',NULL,NULL,'KindPublished','','kept@1','test','{"kind_version":1}',1700000000000,1);
INSERT INTO "events" VALUES(52,'leaf','frozen','018bcfe5-6800-7e1c-abc4-0eb44a2f3f4a','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(53,'group','drops','018bcfe5-6800-724a-ae72-8ef790aad1b2','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(54,'kept','o','018bcfe5-6800-7ebe-95ab-b5bd6999d3b9','Created','','','engine','{"owner":"group/drops"}',1700000000000,0);
INSERT INTO "events" VALUES(55,'leaf','stays','018bcfe5-6800-7d80-b298-651b22e89704','Created','','','engine','{"owner":"group/drops"}',1700000000000,0);
INSERT INTO "events" VALUES(56,'group','drops','018bcfe5-6800-724a-ae72-8ef790aad1b2','Composed','','','engine','{"created":2,"changed":0,"dropped":0}',1700000000000,0);
INSERT INTO "events" VALUES(57,'leaf','frozen','018bcfe5-6800-7e1c-abc4-0eb44a2f3f4a','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(58,'vm','poked','018bcfe5-6800-75ee-beec-439f22529929','OperationSucceeded','','poke','engine','{"operation":"018bcfe5-6800-7554-9d0c-d1a85a965259","verb":"poke"}',1700000000000,0);
INSERT INTO "events" VALUES(59,'kept','o','018bcfe5-6800-7ebe-95ab-b5bd6999d3b9','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(60,'leaf','stays','018bcfe5-6800-7d80-b298-651b22e89704','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(61,'group','drops','018bcfe5-6800-724a-ae72-8ef790aad1b2','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(62,'vm','poked','018bcfe5-6800-75ee-beec-439f22529929','OperationSucceeded','','poke','engine','{"operation":"018bcfe5-6800-7a98-9752-b0a6a760758f","verb":"poke"}',1700000000000,0);
INSERT INTO "events" VALUES(63,'leaf','frozen','018bcfe5-6800-7e1c-abc4-0eb44a2f3f4a','Quarantined','','','ada','{}',1700000000000,1);
INSERT INTO "events" VALUES(64,'leaf','frozen','018bcfe5-6800-7e1c-abc4-0eb44a2f3f4a','PhaseChanged','Quarantined','','ada','{"previous":"Ready"}',1700000000000,0);
INSERT INTO "events" VALUES(65,'group','drops','018bcfe5-6800-724a-ae72-8ef790aad1b2','SpecChanged','','','test','{"generation":2}',1700000000000,1);
INSERT INTO "events" VALUES(66,'group','drops','018bcfe5-6800-724a-ae72-8ef790aad1b2','PhaseChanged','Reconciling','','test','{"previous":"Ready"}',1700000000000,0);
INSERT INTO "events" VALUES(67,'kept','o','018bcfe5-6800-7ebe-95ab-b5bd6999d3b9','Orphaned','','it is deleted in 315360000 s unless group/drops emits it again','engine','{}',1700000000000,0);
INSERT INTO "events" VALUES(68,'group','drops','018bcfe5-6800-724a-ae72-8ef790aad1b2','Composed','','','engine','{"created":0,"changed":0,"dropped":1}',1700000000000,0);
INSERT INTO "events" VALUES(69,'group','drops','018bcfe5-6800-724a-ae72-8ef790aad1b2','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(70,'kept','o','018bcfe5-6800-7ebe-95ab-b5bd6999d3b9','PhaseChanged','Orphaned','','engine','{"previous":"Ready"}',1700000000000,0);
INSERT INTO "events" VALUES(71,'ear',NULL,NULL,'KindPublished','','ear@1','test','{"kind_version":1}',1700000000000,1);
INSERT INTO "events" VALUES(72,'ear','b',NULL,'BindingCreated','','b: created leaf → ear','ada','{"enabled":true,"label_match":{}}',1700000000000,1);
INSERT INTO "events" VALUES(73,'leaf','dead','018bcfe5-6800-79d0-a039-4cb1fcde1ad1','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(74,'leaf','told','018bcfe5-6800-70b8-8add-383954485012','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(75,'leaf','dead','018bcfe5-6800-79d0-a039-4cb1fcde1ad1','DeliveryGivenUp','ReactorFailed','nobody listens','engine','{"delivery":20,"binding":"b","transition":"created","dedup_token":"018bcfe5-6800-79d0-a039-4cb1fcde1ad1:created:1:1:b","attempts":1}',1700000000000,0);
INSERT INTO "events" VALUES(76,'leaf','dead','018bcfe5-6800-79d0-a039-4cb1fcde1ad1','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(77,'leaf','told','018bcfe5-6800-70b8-8add-383954485012','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(78,'leaf','retrying','018bcfe5-6800-7a63-af2b-bc6f03a65e42','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(79,'leaf','leased','018bcfe5-6800-7708-abb3-dabf4db69b2a','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(80,'leaf','retrying','018bcfe5-6800-7a63-af2b-bc6f03a65e42','TaskFailed','ReconcileError','the zone is full','engine','{"stage":"work","terminal":false,"attempts":1}',1700000000000,0);
INSERT INTO "events" VALUES(81,'leaf','retrying','018bcfe5-6800-7a63-af2b-bc6f03a65e42','PhaseChanged','Failed','the zone is full','engine','{"previous":"Reconciling"}',1700000000000,0);
INSERT INTO "events" VALUES(82,'group','half','018bcfe5-6800-7a50-88d3-38bf73d2d788','Created','','','test','{}',1700000000000,1);
INSERT INTO "events" VALUES(83,'leaf','h','018bcfe5-6800-764c-af7d-3e8a9ac26f29','Created','','','engine','{"owner":"group/half"}',1700000000000,0);
INSERT INTO "events" VALUES(84,'group','half','018bcfe5-6800-7a50-88d3-38bf73d2d788','Composed','','','engine','{"created":1,"changed":0,"dropped":0}',1700000000000,0);
INSERT INTO "events" VALUES(85,'leaf','new','018bcfe5-6800-7548-af6d-826ee0c1f9b3','Created','','','test','{}',1700000000000,1);
CREATE TABLE kinds (
	kind TEXT NOT NULL, 
	kind_version INTEGER NOT NULL, 
	manifest TEXT NOT NULL, 
	manifest_version BIGINT NOT NULL, 
	policy TEXT NOT NULL, 
	updated_at BIGINT NOT NULL, labels TEXT DEFAULT '{}' NOT NULL, 
	PRIMARY KEY (kind, kind_version)
);
INSERT INTO "kinds" VALUES('leaf',1,'{"kind":"leaf","kind_version":1,"reactions":[{"name":"make","trigger":"specChange","emits":["status","conditions"]}],"spec_schema":{"type":"object","properties":{"n":{"type":"number"},"x":{"type":"number"}}},"config_schema":{"type":"object","properties":{"n":{"type":"number"},"x":{"type":"number"}}}}',1488566820075934,'{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}',1700000000000,'{}');
INSERT INTO "kinds" VALUES('vm',1,'{"kind":"vm","kind_version":1,"reactions":[{"name":"make","trigger":"specChange","emits":["status","conditions"]},{"name":"drop","trigger":"deleteRequested","emits":["finalizer"],"finalizer":"drop"},{"name":"poke","trigger":"operation","verb":"poke","emits":["operationOutput"]}]}',5192019651447560,'{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}',1700000000000,'{}');
INSERT INTO "kinds" VALUES('group',1,'{"kind":"group","kind_version":1,"reactions":[{"name":"plan","trigger":"specChange","emits":["children","edges","configs","status","conditions"]}]}',8009008682940530,'{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}',1700000000000,'{}');
INSERT INTO "kinds" VALUES('tree',1,'{"kind":"tree","kind_version":1,"reactions":[{"name":"plan","trigger":"specChange","emits":["children","edges","configs","status","conditions"]},{"name":"sum","trigger":"childrenSettled","emits":["status"]}]}',8145044562894384,'{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}',1700000000000,'{}');
INSERT INTO "kinds" VALUES('kept',1,'{"kind":"kept","kind_version":1,"reactions":[{"name":"make","trigger":"specChange","emits":["status","conditions"]}],"orphan_grace_secs":315360000}',6542475886008723,'{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":315360000,"max_transient_attempts":0,"retired":false}',1700000000000,'{}');
INSERT INTO "kinds" VALUES('ear',1,'{"kind":"ear","kind_version":1,"reactions":[{"name":"hear","trigger":"reactor","emits":["sideEffect"]}]}',4862495169904855,'{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}',1700000000000,'{}');
CREATE TABLE members (
	id TEXT NOT NULL, 
	reported_at BIGINT NOT NULL, 
	report TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE operations (
	uid TEXT NOT NULL, 
	resource_id INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	verb TEXT NOT NULL, 
	input TEXT, 
	requested_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	state TEXT NOT NULL, 
	output TEXT, 
	reason TEXT NOT NULL, 
	message TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	started_at BIGINT, 
	finished_at BIGINT, 
	PRIMARY KEY (uid)
);
INSERT INTO "operations" VALUES('018bcfe5-6800-7620-ba0e-87e8e7260492',14,1,'poke',NULL,'someone',1700000000000,'succeeded','{"n":1.0}','','',1,1700000000000,1700000000000);
INSERT INTO "operations" VALUES('018bcfe5-6800-7554-9d0c-d1a85a965259',14,2,'poke',NULL,'someone',1700000000000,'succeeded',NULL,'','',1,1700000000000,1700000000000);
INSERT INTO "operations" VALUES('018bcfe5-6800-7a98-9752-b0a6a760758f',14,3,'poke',NULL,'someone',1700000000000,'succeeded',NULL,'','',1,1700000000000,1700000000000);
CREATE TABLE phase_counts (
	kind TEXT NOT NULL, 
	phase TEXT NOT NULL, 
	resources BIGINT NOT NULL, 
	PRIMARY KEY (kind, phase)
);
INSERT INTO "phase_counts" VALUES('leaf','Reconciling',3);
INSERT INTO "phase_counts" VALUES('group','Reconciling',1);
INSERT INTO "phase_counts" VALUES('tree','Reconciling',0);
INSERT INTO "phase_counts" VALUES('vm','Reconciling',0);
INSERT INTO "phase_counts" VALUES('leaf','Ready',8);
INSERT INTO "phase_counts" VALUES('leaf','Degraded',1);
INSERT INTO "phase_counts" VALUES('vm','Ready',2);
INSERT INTO "phase_counts" VALUES('group','Ready',3);
INSERT INTO "phase_counts" VALUES('tree','Ready',1);
INSERT INTO "phase_counts" VALUES('leaf','Failed',2);
INSERT INTO "phase_counts" VALUES('group','Failed',1);
INSERT INTO "phase_counts" VALUES('vm','Deleting',1);
INSERT INTO "phase_counts" VALUES('kept','Reconciling',0);
INSERT INTO "phase_counts" VALUES('kept','Ready',0);
INSERT INTO "phase_counts" VALUES('leaf','Quarantined',1);
INSERT INTO "phase_counts" VALUES('kept','Orphaned',1);
CREATE TABLE provider_configs (
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	kind_version INTEGER NOT NULL, 
	is_default BOOLEAN NOT NULL, 
	spec TEXT, 
	bundle BLOB, 
	owner_id INTEGER, 
	revision BIGINT NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, labels TEXT DEFAULT '{}' NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "provider_configs" VALUES('d','leaf',1,1,'{"x":1.10}',X'00FF',NULL,1,1700000000000,1700000000000,'{}');
INSERT INTO "provider_configs" VALUES('o','leaf',1,0,'{"x":12345678901234567890}',X'00FF',NULL,1,1700000000000,1700000000000,'{}');
INSERT INTO "provider_configs" VALUES('emitted','leaf',1,0,'{"x":2}',NULL,4,1,1700000000000,1700000000000,'{}');
CREATE TABLE queue (
	id INTEGER NOT NULL, 
	resource_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	kind_version INTEGER NOT NULL, 
	position BIGINT NOT NULL, 
	held BOOLEAN NOT NULL, 
	reasons SMALLINT NOT NULL, 
	again SMALLINT NOT NULL, 
	seq BIGINT NOT NULL, 
	claimed_seq BIGINT NOT NULL, 
	done SMALLINT NOT NULL, 
	emitted TEXT NOT NULL, 
	stage TEXT, 
	generation BIGINT NOT NULL, 
	epoch BIGINT NOT NULL, 
	token TEXT, 
	claimed_by TEXT, 
	worker TEXT, 
	heartbeat_at BIGINT, 
	superseded TEXT, 
	void_told BOOLEAN NOT NULL, 
	attempts INTEGER NOT NULL, 
	progress FLOAT, 
	progress_message TEXT NOT NULL, claimed_at BIGINT, 
	PRIMARY KEY (id)
);
INSERT INTO "queue" VALUES(53,13,'vm',1,1700000000115000000,0,64,0,0,0,0,'[]',NULL,1,1,NULL,NULL,NULL,NULL,NULL,0,1,NULL,'',NULL);
INSERT INTO "queue" VALUES(91,22,'ear',1,1700000000000000030,0,0,0,0,0,0,'[]','react',1,1,'5b-9cdb5c856b59ba08f9351f82709b14c8','broker','worker',1700000000000,NULL,0,0,NULL,'',1700000000000);
INSERT INTO "queue" VALUES(92,23,'leaf',1,1700000001552000000,0,1,0,0,0,0,'[]',NULL,1,1,NULL,NULL,NULL,NULL,NULL,0,1,NULL,'',NULL);
INSERT INTO "queue" VALUES(99,24,'ear',1,1700000000000000032,0,0,0,0,0,0,'[]',NULL,0,0,NULL,NULL,NULL,NULL,NULL,0,0,NULL,'',NULL);
INSERT INTO "queue" VALUES(100,25,'leaf',1,1700000000000000033,0,1,0,0,0,0,'[]','work',1,1,'64-e7872170fab19a5cfc2d4d4cc7d4262d','broker','worker',1700000000000,NULL,0,0,NULL,'',1700000000000);
INSERT INTO "queue" VALUES(107,26,'ear',1,1700000000000000034,0,0,0,0,0,0,'[]',NULL,0,0,NULL,NULL,NULL,NULL,NULL,0,0,NULL,'',NULL);
INSERT INTO "queue" VALUES(112,28,'leaf',1,1700000000000000036,0,1,0,0,0,0,'[]',NULL,0,0,NULL,NULL,NULL,NULL,NULL,0,0,NULL,'',NULL);
INSERT INTO "queue" VALUES(119,29,'ear',1,1700000000000000037,0,0,0,0,0,0,'[]',NULL,0,0,NULL,NULL,NULL,NULL,NULL,0,0,NULL,'',NULL);
INSERT INTO "queue" VALUES(120,30,'leaf',1,1700000000000000038,0,1,0,0,0,0,'[]',NULL,0,0,NULL,NULL,NULL,NULL,NULL,0,0,NULL,'',NULL);
INSERT INTO "queue" VALUES(127,31,'ear',1,1700000000000000039,0,0,0,0,0,0,'[]',NULL,0,0,NULL,NULL,NULL,NULL,NULL,0,0,NULL,'',NULL);
CREATE TABLE reactor_bindings (
	name TEXT NOT NULL, 
	watch_kind TEXT NOT NULL, 
	watch_kind_version INTEGER, 
	transition TEXT NOT NULL, 
	reactor TEXT NOT NULL, 
	reactor_version INTEGER, 
	label_match TEXT NOT NULL, 
	enabled BOOLEAN NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, labels TEXT DEFAULT '{}' NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "reactor_bindings" VALUES('b','leaf',NULL,'created','ear',NULL,'{}',1,1700000000000,1700000000000,'{}');
CREATE TABLE rechecks (
	what SMALLINT NOT NULL, 
	resource_id INTEGER NOT NULL, 
	PRIMARY KEY (what, resource_id)
)
 WITHOUT ROWID

;
CREATE TABLE resource_labels (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	resource_id INTEGER NOT NULL, 
	PRIMARY KEY ("key", value, resource_id)
)
 WITHOUT ROWID

;
INSERT INTO "resource_labels" VALUES('team','a',1);
CREATE TABLE resources (
	id INTEGER NOT NULL, 
	uid TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	kind_version INTEGER NOT NULL, 
	owner_id INTEGER, 
	root_id INTEGER, 
	generation BIGINT NOT NULL, 
	worked_gen BIGINT NOT NULL, 
	synced_gen BIGINT NOT NULL, 
	composed_gen BIGINT NOT NULL, 
	failure_gen BIGINT NOT NULL, 
	failure_terminal BOOLEAN NOT NULL, 
	failure_attempts INTEGER NOT NULL, 
	failure_reason TEXT NOT NULL, 
	failure_message TEXT NOT NULL, 
	health_ok BOOLEAN NOT NULL, 
	due SMALLINT NOT NULL, 
	unsettled INTEGER NOT NULL, 
	unready INTEGER NOT NULL, 
	counted_unsettled BOOLEAN NOT NULL, 
	counted_unready BOOLEAN NOT NULL, 
	gate SMALLINT NOT NULL, 
	gate_message TEXT NOT NULL, 
	wanted BOOLEAN NOT NULL, 
	deletion_requested_at BIGINT, 
	frozen_until BIGINT, 
	synced_changed_at BIGINT NOT NULL, 
	ready_changed_at BIGINT NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	provider_config TEXT, 
	finalizers TEXT NOT NULL, 
	labels TEXT NOT NULL, 
	conditions TEXT NOT NULL, 
	status TEXT, 
	spec TEXT, 
	composed_spec TEXT, 
	flowed TEXT, 
	phase TEXT GENERATED ALWAYS AS (CASE
 WHEN deletion_requested_at IS NOT NULL THEN 'Deleting'
 WHEN frozen_until = 9223372036854775807 THEN 'Quarantined'
 WHEN failure_gen = generation THEN 'Failed'
 WHEN frozen_until IS NOT NULL THEN 'Orphaned'
 WHEN synced_gen < generation OR unsettled > 0 OR due > 0 THEN 'Reconciling'
 WHEN NOT health_ok OR unready > 0 THEN 'Degraded'
 ELSE 'Ready' END) STORED, resync_at BIGINT, recompose BOOLEAN DEFAULT 0 NOT NULL, transition_seq BIGINT DEFAULT '0' NOT NULL, spec_gen BIGINT DEFAULT '1' NOT NULL, spec_by TEXT DEFAULT '' NOT NULL, spec_at BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT resources_kind_name UNIQUE (kind, name)
);
INSERT INTO "resources" VALUES(1,'018bcfe5-6800-7849-b134-92cf8698da2c','leaf','ready',1,NULL,NULL,2,2,2,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000003,NULL,'[]','{"team":"a"}','[]','{"id":"ready","size":1.50}','{"n":2.5}',NULL,NULL,NULL,0,3,2,'test',1700000000000);
INSERT INTO "resources" VALUES(2,'018bcfe5-6800-7eb4-b9a9-a4f303d621d8','leaf','configured',1,NULL,NULL,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000001,'o','[]','{}','[]','{"id":"configured","size":1.50}','{}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(3,'018bcfe5-6800-78f6-83a2-d97603902e32','leaf','sick',1,NULL,NULL,1,1,1,0,0,0,0,'','',0,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000001,NULL,'[]','{}','[["Ready","False","Sick","the disk is slow",1,1700000000000]]','{"id":"sick","size":1.50}','{}',NULL,NULL,NULL,0,3,1,'test',1700000000000);
INSERT INTO "resources" VALUES(4,'018bcfe5-6800-7920-a6b5-3c23dc0592eb','group','g',1,NULL,NULL,1,1,1,1,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000004,NULL,'[]','{}','[]',NULL,'{"children":[["leaf/a"],["leaf/b"],["vm/c"]],"edges":[["leaf/b","leaf/a",[["/from","/id"]]]]}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(5,'018bcfe5-6800-7f8b-b98b-b3520f521a9e','tree','t',1,NULL,NULL,1,1,1,1,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000003,NULL,'[]','{}','[]',NULL,'{"children":[["group/inner",{"children":[["leaf/deep"]]}]],"edges":[]}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(6,'018bcfe5-6800-75ce-983c-5016f66c11d7','leaf','a',1,4,4,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000002,'emitted','[]','{}','[]','{"id":"a","size":1.50}','{}','{}',NULL,NULL,0,2,1,'engine',1700000000000);
INSERT INTO "resources" VALUES(7,'018bcfe5-6800-7fe1-8086-8937f461f692','leaf','b',1,4,4,2,2,2,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000004,NULL,'[]','{}','[]','{"id":"b","size":1.50}','{"from":"a"}','{}','{"/from":"a"}',NULL,0,2,2,'engine',1700000000000);
INSERT INTO "resources" VALUES(8,'018bcfe5-6800-7121-8e6f-17c34e18eba4','vm','c',1,4,4,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000002,NULL,'[]','{}','[]',NULL,'{}','{}',NULL,NULL,0,2,1,'engine',1700000000000);
INSERT INTO "resources" VALUES(9,'018bcfe5-6800-76c0-b379-9c9fba17b998','group','inner',1,5,5,1,1,1,1,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000003,NULL,'[]','{}','[]',NULL,'{"children":[["leaf/deep"]]}','{"children":[["leaf/deep"]]}',NULL,NULL,0,2,1,'engine',1700000000000);
INSERT INTO "resources" VALUES(10,'018bcfe5-6800-7640-ab3a-66d3642b1065','leaf','deep',1,9,5,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000002,NULL,'[]','{}','[]','{"id":"deep","size":1.50}','{}','{}',NULL,NULL,0,2,1,'engine',1700000000000);
INSERT INTO "resources" VALUES(11,'018bcfe5-6800-7874-ad3e-25332cfcc696','leaf','failed',1,NULL,NULL,1,0,0,0,1,1,0,'NoZone','there is no such zone',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000001,NULL,'[]','{}','[]',NULL,'{}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(12,'018bcfe5-6800-7bbe-8f38-8abcc06fc9bc','group','stuck',1,NULL,NULL,1,0,0,0,1,1,0,'NotOwned','leaf/ready exists and is not owned by group/stuck',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000001,NULL,'[]','{}','[]',NULL,'{"children":[["leaf/ready"]],"edges":[]}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(13,'018bcfe5-6800-7728-b1ad-bbf43295e598','vm','going',1,NULL,NULL,1,1,1,0,1,0,1,'ReconcileError','it is in use',1,0,0,0,0,0,0,'',1,1700000000000,NULL,1700000000000,1700000000000,1700000000000,1700000000003,NULL,'["drop"]','{}','[]',NULL,'{}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(14,'018bcfe5-6800-75ee-beec-439f22529929','vm','poked',1,NULL,NULL,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000004,NULL,'[]','{}','[]',NULL,'{}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(15,'018bcfe5-6800-7e1c-abc4-0eb44a2f3f4a','leaf','frozen',1,NULL,NULL,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,9223372036854775807,1700000000000,1700000000000,1700000000000,1700000000002,NULL,'[]','{}','[]','{"id":"frozen","size":1.50}','{}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(16,'018bcfe5-6800-724a-ae72-8ef790aad1b2','group','drops',1,NULL,NULL,2,2,2,2,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000005,NULL,'[]','{}','[]',NULL,'{"children":[["leaf/stays"]],"edges":[]}',NULL,NULL,NULL,0,3,2,'test',1700000000000);
INSERT INTO "resources" VALUES(17,'018bcfe5-6800-7ebe-95ab-b5bd6999d3b9','kept','o',1,16,16,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',0,NULL,2015360000000,1700000000000,1700000000000,1700000000000,1700000000003,NULL,'[]','{}','[]',NULL,'{}','{}',NULL,NULL,0,2,1,'engine',1700000000000);
INSERT INTO "resources" VALUES(18,'018bcfe5-6800-7d80-b298-651b22e89704','leaf','stays',1,16,16,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000002,NULL,'[]','{}','[]','{"id":"stays","size":1.50}','{}','{}',NULL,NULL,0,2,1,'engine',1700000000000);
INSERT INTO "resources" VALUES(19,'018bcfe5-6800-79d0-a039-4cb1fcde1ad1','leaf','dead',1,NULL,NULL,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000001,NULL,'[]','{}','[]','{"id":"dead","size":1.50}','{}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(21,'018bcfe5-6800-70b8-8add-383954485012','leaf','told',1,NULL,NULL,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000001,NULL,'[]','{}','[]','{"id":"told","size":1.50}','{}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(23,'018bcfe5-6800-7a63-af2b-bc6f03a65e42','leaf','retrying',1,NULL,NULL,1,0,0,0,1,0,1,'ReconcileError','the zone is full',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000001,NULL,'[]','{}','[]',NULL,'{}',NULL,NULL,NULL,0,2,1,'test',1700000000000);
INSERT INTO "resources" VALUES(25,'018bcfe5-6800-7708-abb3-dabf4db69b2a','leaf','leased',1,NULL,NULL,1,0,0,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{}',NULL,NULL,NULL,0,1,1,'test',1700000000000);
INSERT INTO "resources" VALUES(27,'018bcfe5-6800-7a50-88d3-38bf73d2d788','group','half',1,NULL,NULL,1,1,0,1,0,0,0,'','',1,0,1,1,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000001,NULL,'[]','{}','[]',NULL,'{"children":[["leaf/h"]],"edges":[]}',NULL,NULL,NULL,0,1,1,'test',1700000000000);
INSERT INTO "resources" VALUES(28,'018bcfe5-6800-764c-af7d-3e8a9ac26f29','leaf','h',1,27,27,1,0,0,0,0,0,0,'','',1,0,0,0,1,1,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{}','{}',NULL,NULL,0,1,1,'engine',1700000000000);
INSERT INTO "resources" VALUES(30,'018bcfe5-6800-7548-af6d-826ee0c1f9b3','leaf','new',1,NULL,NULL,1,0,0,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{}',NULL,NULL,NULL,0,1,1,'test',1700000000000);
CREATE TABLE revisions (
	resource_id INTEGER NOT NULL, 
	generation BIGINT NOT NULL, 
	kind_version INTEGER NOT NULL, 
	spec TEXT, 
	written_by TEXT NOT NULL, 
	written_at BIGINT NOT NULL, 
	PRIMARY KEY (resource_id, generation)
);
INSERT INTO "revisions" VALUES(7,1,1,'{}','engine',1700000000000);
INSERT INTO "revisions" VALUES(1,1,1,'{"n":1}','test',1700000000000);
INSERT INTO "revisions" VALUES(16,1,1,'{"children":[["kept/o"],["leaf/stays"]],"edges":[]}','test',1700000000000);
CREATE TABLE sweeps (
	subject TEXT NOT NULL, 
	after_id BIGINT NOT NULL, 
	PRIMARY KEY (subject)
);
CREATE TABLE waits (
	subject TEXT NOT NULL, 
	resource_id INTEGER NOT NULL, 
	PRIMARY KEY (subject, resource_id)
)
 WITHOUT ROWID

;
INSERT INTO "waits" VALUES('name:leaf/ready',12);
CREATE INDEX edges_dependency ON edges (dependency_id);
CREATE INDEX edges_owner ON edges (owner_id);
CREATE INDEX events_resource ON events (kind, name, seq);
CREATE UNIQUE INDEX provider_configs_default ON provider_configs (kind, kind_version) WHERE is_default;
CREATE INDEX provider_configs_owner ON provider_configs (owner_id) WHERE owner_id IS NOT NULL;
CREATE INDEX queue_claimed ON queue (kind, kind_version) WHERE claimed_by IS NOT NULL;
CREATE INDEX queue_ready ON queue (kind, kind_version, position) WHERE claimed_by IS NULL AND NOT held;
CREATE INDEX queue_void ON queue (claimed_by) WHERE superseded IS NOT NULL AND NOT void_told;
CREATE INDEX resource_labels_resource ON resource_labels (resource_id);
CREATE INDEX resources_config ON resources (provider_config) WHERE provider_config IS NOT NULL;
CREATE INDEX resources_owner ON resources (owner_id, counted_unready) WHERE owner_id IS NOT NULL;
CREATE INDEX resources_pair ON resources (kind, kind_version, id);
CREATE INDEX resources_phase ON resources (phase, id) WHERE phase <> 'Ready';
CREATE UNIQUE INDEX resources_uid ON resources (uid);
CREATE INDEX waits_resource ON waits (resource_id);
CREATE UNIQUE INDEX operations_resource ON operations (resource_id, number);
CREATE INDEX events_audited ON events (seq) WHERE audited;
CREATE INDEX resources_resync ON resources (resync_at) WHERE resync_at IS NOT NULL;
CREATE INDEX deliveries_dead ON deliveries (id) WHERE dead_at IS NOT NULL;
CREATE INDEX resources_frozen ON resources (frozen_until) WHERE frozen_until IS NOT NULL;
COMMIT;
