BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE counters (
	name TEXT NOT NULL, 
	value BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "counters" VALUES('resources',18);
INSERT INTO "counters" VALUES('events',51);
INSERT INTO "counters" VALUES('catalog',5);
INSERT INTO "counters" VALUES('min_compatible',1);
CREATE TABLE default_revisions (
	kind TEXT NOT NULL, 
	kind_version INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	PRIMARY KEY (kind, kind_version)
);
INSERT INTO "default_revisions" VALUES('leaf',1,1);
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
	created_at BIGINT NOT NULL, 
	PRIMARY KEY (seq)
);
INSERT INTO "events" VALUES(1,NULL,NULL,NULL,'KindPublished','','leaf@1','test','{"kind":"leaf","kind_version":1}',1700000000000);
INSERT INTO "events" VALUES(2,NULL,NULL,NULL,'KindPublished','','vm@1','test','{"kind":"vm","kind_version":1}',1700000000000);
INSERT INTO "events" VALUES(3,NULL,NULL,NULL,'KindPublished','','group@1','test','{"kind":"group","kind_version":1}',1700000000000);
INSERT INTO "events" VALUES(4,NULL,NULL,NULL,'KindPublished','','tree@1','test','{"kind":"tree","kind_version":1}',1700000000000);
INSERT INTO "events" VALUES(5,NULL,NULL,NULL,'ConfigCreated','','d for leaf@1','ada','{"name":"d"}',1700000000000);
INSERT INTO "events" VALUES(6,NULL,NULL,NULL,'ConfigCreated','','o for leaf@1','ada','{"name":"o"}',1700000000000);
INSERT INTO "events" VALUES(7,'leaf','ready','018bcfe5-6800-7bd9-88d7-2a1d6ab6dd01','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(8,'leaf','configured','018bcfe5-6800-7aa8-9fbf-588135bc9500','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(9,'leaf','sick','018bcfe5-6800-747c-9942-9cec89a80795','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(10,'group','g','018bcfe5-6800-72ee-999d-0ce51f53d116','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(11,'tree','t','018bcfe5-6800-7272-b1c2-df1b5678f74d','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(12,'leaf','a','018bcfe5-6800-71ef-95bb-2e4caa63b3be','Created','','','engine','{"owner":"group/g"}',1700000000000);
INSERT INTO "events" VALUES(13,'leaf','b','018bcfe5-6800-7499-8770-4ccdc2989cd8','Created','','','engine','{"owner":"group/g"}',1700000000000);
INSERT INTO "events" VALUES(14,'vm','c','018bcfe5-6800-746d-8e0f-fd89988a7384','Created','','','engine','{"owner":"group/g"}',1700000000000);
INSERT INTO "events" VALUES(15,'group','g','018bcfe5-6800-72ee-999d-0ce51f53d116','Composed','','','engine','{"created":3,"changed":0,"dropped":0}',1700000000000);
INSERT INTO "events" VALUES(16,'leaf','ready','018bcfe5-6800-7bd9-88d7-2a1d6ab6dd01','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(17,'leaf','configured','018bcfe5-6800-7aa8-9fbf-588135bc9500','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(18,'leaf','sick','018bcfe5-6800-747c-9942-9cec89a80795','PhaseChanged','Degraded','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(19,'group','inner','018bcfe5-6800-7a47-8542-6bbd20a1216e','Created','','','engine','{"owner":"tree/t"}',1700000000000);
INSERT INTO "events" VALUES(20,'tree','t','018bcfe5-6800-7272-b1c2-df1b5678f74d','Composed','','','engine','{"created":1,"changed":0,"dropped":0}',1700000000000);
INSERT INTO "events" VALUES(21,'leaf','deep','018bcfe5-6800-74aa-be35-45630615a5fb','Created','','','engine','{"owner":"group/inner"}',1700000000000);
INSERT INTO "events" VALUES(22,'group','inner','018bcfe5-6800-7a47-8542-6bbd20a1216e','Composed','','','engine','{"created":1,"changed":0,"dropped":0}',1700000000000);
INSERT INTO "events" VALUES(23,'leaf','a','018bcfe5-6800-71ef-95bb-2e4caa63b3be','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(24,'vm','c','018bcfe5-6800-746d-8e0f-fd89988a7384','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(25,'leaf','deep','018bcfe5-6800-74aa-be35-45630615a5fb','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(26,'group','inner','018bcfe5-6800-7a47-8542-6bbd20a1216e','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(27,'leaf','b','018bcfe5-6800-7499-8770-4ccdc2989cd8','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(28,'group','g','018bcfe5-6800-72ee-999d-0ce51f53d116','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(29,'tree','t','018bcfe5-6800-7272-b1c2-df1b5678f74d','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(30,'leaf','ready','018bcfe5-6800-7bd9-88d7-2a1d6ab6dd01','SpecChanged','','','test','{"generation":2}',1700000000000);
INSERT INTO "events" VALUES(31,'leaf','ready','018bcfe5-6800-7bd9-88d7-2a1d6ab6dd01','PhaseChanged','Reconciling','','test','{"previous":"Ready"}',1700000000000);
INSERT INTO "events" VALUES(32,'leaf','ready','018bcfe5-6800-7bd9-88d7-2a1d6ab6dd01','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(33,'leaf','failed','018bcfe5-6800-77b8-9e71-21b4b15f6539','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(34,'leaf','failed','018bcfe5-6800-77b8-9e71-21b4b15f6539','TaskFailed','NoZone','there is no such zone','engine','{"stage":"work","terminal":true,"attempts":0}',1700000000000);
INSERT INTO "events" VALUES(35,'leaf','failed','018bcfe5-6800-77b8-9e71-21b4b15f6539','PhaseChanged','Failed','there is no such zone','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(36,'group','stuck','018bcfe5-6800-761a-8682-ec5affe55428','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(37,'group','stuck','018bcfe5-6800-761a-8682-ec5affe55428','TaskFailed','NotOwned','leaf/ready exists and is not owned by group/stuck','engine','{"stage":"compose","terminal":true,"attempts":0}',1700000000000);
INSERT INTO "events" VALUES(38,'group','stuck','018bcfe5-6800-761a-8682-ec5affe55428','PhaseChanged','Failed','leaf/ready exists and is not owned by group/stuck','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(39,'vm','going','018bcfe5-6800-7a01-b71b-929d9c4ce8de','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(40,'vm','going','018bcfe5-6800-7a01-b71b-929d9c4ce8de','PhaseChanged','Ready','','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(41,'vm','going','018bcfe5-6800-7a01-b71b-929d9c4ce8de','DeleteRequested','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(42,'vm','going','018bcfe5-6800-7a01-b71b-929d9c4ce8de','PhaseChanged','Deleting','','test','{"previous":"Ready"}',1700000000000);
INSERT INTO "events" VALUES(43,'vm','going','018bcfe5-6800-7a01-b71b-929d9c4ce8de','TaskFailed','ReconcileError','it is in use','engine','{"stage":"delete","terminal":false,"attempts":1}',1700000000000);
INSERT INTO "events" VALUES(44,'leaf','retrying','018bcfe5-6800-7deb-b190-1171f791b404','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(45,'leaf','leased','018bcfe5-6800-70e8-b2e5-a763852a2907','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(46,'leaf','retrying','018bcfe5-6800-7deb-b190-1171f791b404','TaskFailed','ReconcileError','the zone is full','engine','{"stage":"work","terminal":false,"attempts":1}',1700000000000);
INSERT INTO "events" VALUES(47,'leaf','retrying','018bcfe5-6800-7deb-b190-1171f791b404','PhaseChanged','Failed','the zone is full','engine','{"previous":"Reconciling"}',1700000000000);
INSERT INTO "events" VALUES(48,'group','half','018bcfe5-6800-7eb8-b816-84f1eb0d3d69','Created','','','test','{}',1700000000000);
INSERT INTO "events" VALUES(49,'leaf','h','018bcfe5-6800-702b-8129-eb94d42c9c95','Created','','','engine','{"owner":"group/half"}',1700000000000);
INSERT INTO "events" VALUES(50,'group','half','018bcfe5-6800-7eb8-b816-84f1eb0d3d69','Composed','','','engine','{"created":1,"changed":0,"dropped":0}',1700000000000);
INSERT INTO "events" VALUES(51,'leaf','new','018bcfe5-6800-7b04-9501-c60f1663b632','Created','','','test','{}',1700000000000);
CREATE TABLE kinds (
	kind TEXT NOT NULL, 
	kind_version INTEGER NOT NULL, 
	manifest TEXT NOT NULL, 
	manifest_version BIGINT NOT NULL, 
	policy TEXT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	PRIMARY KEY (kind, kind_version)
);
INSERT INTO "kinds" VALUES('leaf',1,'{"kind":"leaf","kind_version":1,"reactions":[{"name":"make","trigger":"specChange","emits":["status","conditions"]}],"spec_schema":{"type":"object","properties":{"n":{"type":"number"},"x":{"type":"number"}}},"config_schema":{"type":"object","properties":{"n":{"type":"number"},"x":{"type":"number"}}}}',1488566820075934,'{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}',1700000000000);
INSERT INTO "kinds" VALUES('vm',1,'{"kind":"vm","kind_version":1,"reactions":[{"name":"make","trigger":"specChange","emits":["status","conditions"]},{"name":"drop","trigger":"deleteRequested","emits":["finalizer"],"finalizer":"drop"}]}',970271691957478,'{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}',1700000000000);
INSERT INTO "kinds" VALUES('group',1,'{"kind":"group","kind_version":1,"reactions":[{"name":"plan","trigger":"specChange","emits":["children","edges","configs","status","conditions"]}]}',8009008682940530,'{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}',1700000000000);
INSERT INTO "kinds" VALUES('tree',1,'{"kind":"tree","kind_version":1,"reactions":[{"name":"plan","trigger":"specChange","emits":["children","edges","configs","status","conditions"]},{"name":"sum","trigger":"childrenSettled","emits":["status"]}]}',8145044562894384,'{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}',1700000000000);
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
INSERT INTO "phase_counts" VALUES('leaf','Ready',5);
INSERT INTO "phase_counts" VALUES('leaf','Degraded',1);
INSERT INTO "phase_counts" VALUES('vm','Ready',1);
INSERT INTO "phase_counts" VALUES('group','Ready',2);
INSERT INTO "phase_counts" VALUES('tree','Ready',1);
INSERT INTO "phase_counts" VALUES('leaf','Failed',2);
INSERT INTO "phase_counts" VALUES('group','Failed',1);
INSERT INTO "phase_counts" VALUES('vm','Deleting',1);
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
	updated_at BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "provider_configs" VALUES('d','leaf',1,1,'{"x":1.10}',X'00FF',NULL,1,1700000000000,1700000000000);
INSERT INTO "provider_configs" VALUES('o','leaf',1,0,'{"x":12345678901234567890}',X'00FF',NULL,1,1700000000000,1700000000000);
INSERT INTO "provider_configs" VALUES('emitted','leaf',1,0,'{"x":2}',NULL,4,1,1700000000000,1700000000000);
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
	progress_message TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "queue" VALUES(53,13,'vm',1,1700000001807000000,0,64,0,0,0,0,'[]',NULL,1,1,NULL,NULL,NULL,NULL,NULL,0,1,NULL,'');
INSERT INTO "queue" VALUES(56,14,'leaf',1,1700000000165000000,0,1,0,0,0,0,'[]',NULL,1,1,NULL,NULL,NULL,NULL,NULL,0,1,NULL,'');
INSERT INTO "queue" VALUES(60,15,'leaf',1,1700000000000000020,0,1,0,0,0,0,'[]','work',1,1,'3c-5a5870eec61d56bbad0dcf74422aa346','broker','worker',1700000000000,NULL,0,0,NULL,'');
INSERT INTO "queue" VALUES(68,17,'leaf',1,1700000000000000022,0,1,0,0,0,0,'[]',NULL,0,0,NULL,NULL,NULL,NULL,NULL,0,0,NULL,'');
INSERT INTO "queue" VALUES(72,18,'leaf',1,1700000000000000023,0,1,0,0,0,0,'[]',NULL,0,0,NULL,NULL,NULL,NULL,NULL,0,0,NULL,'');
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
 ELSE 'Ready' END) STORED, 
	PRIMARY KEY (id), 
	CONSTRAINT resources_kind_name UNIQUE (kind, name)
);
INSERT INTO "resources" VALUES(1,'018bcfe5-6800-7bd9-88d7-2a1d6ab6dd01','leaf','ready',1,NULL,NULL,2,2,2,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{"team":"a"}','[]','{"id":"ready","size":1.50}','{"n":2.5}',NULL,NULL);
INSERT INTO "resources" VALUES(2,'018bcfe5-6800-7aa8-9fbf-588135bc9500','leaf','configured',1,NULL,NULL,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,'o','[]','{}','[]','{"id":"configured","size":1.50}','{}',NULL,NULL);
INSERT INTO "resources" VALUES(3,'018bcfe5-6800-747c-9942-9cec89a80795','leaf','sick',1,NULL,NULL,1,1,1,0,0,0,0,'','',0,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[["Ready","False","Sick","the disk is slow",1,1700000000000]]','{"id":"sick","size":1.50}','{}',NULL,NULL);
INSERT INTO "resources" VALUES(4,'018bcfe5-6800-72ee-999d-0ce51f53d116','group','g',1,NULL,NULL,1,1,1,1,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{"children":[["leaf/a"],["leaf/b"],["vm/c"]],"edges":[["leaf/b","leaf/a",[["/from","/id"]]]]}',NULL,NULL);
INSERT INTO "resources" VALUES(5,'018bcfe5-6800-7272-b1c2-df1b5678f74d','tree','t',1,NULL,NULL,1,1,1,1,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{"children":[["group/inner",{"children":[["leaf/deep"]]}]],"edges":[]}',NULL,NULL);
INSERT INTO "resources" VALUES(6,'018bcfe5-6800-71ef-95bb-2e4caa63b3be','leaf','a',1,4,4,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,'emitted','[]','{}','[]','{"id":"a","size":1.50}','{}','{}',NULL);
INSERT INTO "resources" VALUES(7,'018bcfe5-6800-7499-8770-4ccdc2989cd8','leaf','b',1,4,4,2,2,2,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]','{"id":"b","size":1.50}','{"from":"a"}','{}','{"/from":"a"}');
INSERT INTO "resources" VALUES(8,'018bcfe5-6800-746d-8e0f-fd89988a7384','vm','c',1,4,4,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{}','{}',NULL);
INSERT INTO "resources" VALUES(9,'018bcfe5-6800-7a47-8542-6bbd20a1216e','group','inner',1,5,5,1,1,1,1,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{"children":[["leaf/deep"]]}','{"children":[["leaf/deep"]]}',NULL);
INSERT INTO "resources" VALUES(10,'018bcfe5-6800-74aa-be35-45630615a5fb','leaf','deep',1,9,5,1,1,1,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]','{"id":"deep","size":1.50}','{}','{}',NULL);
INSERT INTO "resources" VALUES(11,'018bcfe5-6800-77b8-9e71-21b4b15f6539','leaf','failed',1,NULL,NULL,1,0,0,0,1,1,0,'NoZone','there is no such zone',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{}',NULL,NULL);
INSERT INTO "resources" VALUES(12,'018bcfe5-6800-761a-8682-ec5affe55428','group','stuck',1,NULL,NULL,1,0,0,0,1,1,0,'NotOwned','leaf/ready exists and is not owned by group/stuck',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{"children":[["leaf/ready"]],"edges":[]}',NULL,NULL);
INSERT INTO "resources" VALUES(13,'018bcfe5-6800-7a01-b71b-929d9c4ce8de','vm','going',1,NULL,NULL,1,1,1,0,1,0,1,'ReconcileError','it is in use',1,0,0,0,0,0,0,'',1,1700000000000,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'["drop"]','{}','[]',NULL,'{}',NULL,NULL);
INSERT INTO "resources" VALUES(14,'018bcfe5-6800-7deb-b190-1171f791b404','leaf','retrying',1,NULL,NULL,1,0,0,0,1,0,1,'ReconcileError','the zone is full',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{}',NULL,NULL);
INSERT INTO "resources" VALUES(15,'018bcfe5-6800-70e8-b2e5-a763852a2907','leaf','leased',1,NULL,NULL,1,0,0,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{}',NULL,NULL);
INSERT INTO "resources" VALUES(16,'018bcfe5-6800-7eb8-b816-84f1eb0d3d69','group','half',1,NULL,NULL,1,1,0,1,0,0,0,'','',1,0,1,1,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{"children":[["leaf/h"]],"edges":[]}',NULL,NULL);
INSERT INTO "resources" VALUES(17,'018bcfe5-6800-702b-8129-eb94d42c9c95','leaf','h',1,16,16,1,0,0,0,0,0,0,'','',1,0,0,0,1,1,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{}','{}',NULL);
INSERT INTO "resources" VALUES(18,'018bcfe5-6800-7b04-9501-c60f1663b632','leaf','new',1,NULL,NULL,1,0,0,0,0,0,0,'','',1,0,0,0,0,0,0,'',1,NULL,NULL,1700000000000,1700000000000,1700000000000,1700000000000,NULL,'[]','{}','[]',NULL,'{}',NULL,NULL);
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
COMMIT;
