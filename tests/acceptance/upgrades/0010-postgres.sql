SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.counters (
    name text NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE public.default_revisions (
    kind text NOT NULL,
    kind_version integer NOT NULL,
    revision bigint NOT NULL
);
CREATE TABLE public.deliveries (
    id bigint NOT NULL,
    binding text NOT NULL,
    transition text NOT NULL,
    reactor text NOT NULL,
    reactor_version integer,
    dedup_token text NOT NULL,
    created_at bigint NOT NULL,
    uid text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    kind_version integer NOT NULL,
    generation bigint NOT NULL,
    synced_gen bigint NOT NULL,
    phase text NOT NULL,
    labels text NOT NULL,
    owner_uid text,
    root_uid text,
    spec text,
    status text,
    dead_at bigint,
    attempts integer NOT NULL,
    reason text NOT NULL,
    message text NOT NULL
);
CREATE TABLE public.edges (
    dependent_id bigint NOT NULL,
    dependency_id bigint NOT NULL,
    owner_id bigint NOT NULL,
    flows text NOT NULL
);
CREATE TABLE public.events (
    seq bigint NOT NULL,
    kind text,
    name text,
    uid text,
    type text NOT NULL,
    reason text NOT NULL,
    message text NOT NULL,
    actor text NOT NULL,
    detail text NOT NULL,
    created_at bigint NOT NULL,
    audited boolean DEFAULT false NOT NULL
);
CREATE TABLE public.kinds (
    kind text NOT NULL,
    kind_version integer NOT NULL,
    manifest text NOT NULL,
    manifest_version bigint NOT NULL,
    policy text NOT NULL,
    updated_at bigint NOT NULL,
    labels text DEFAULT '{}'::text NOT NULL
);
CREATE TABLE public.members (
    id text NOT NULL,
    reported_at bigint NOT NULL,
    report text NOT NULL
);
CREATE TABLE public.operations (
    uid text NOT NULL,
    resource_id bigint NOT NULL,
    number bigint NOT NULL,
    verb text NOT NULL,
    input text,
    requested_by text NOT NULL,
    created_at bigint NOT NULL,
    state text NOT NULL,
    output text,
    reason text NOT NULL,
    message text NOT NULL,
    attempts integer NOT NULL,
    started_at bigint,
    finished_at bigint
);
CREATE TABLE public.phase_counts (
    kind text NOT NULL,
    phase text NOT NULL,
    resources bigint NOT NULL
);
CREATE TABLE public.provider_configs (
    name text NOT NULL,
    kind text NOT NULL,
    kind_version integer NOT NULL,
    is_default boolean NOT NULL,
    spec text,
    bundle bytea,
    owner_id bigint,
    revision bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    labels text DEFAULT '{}'::text NOT NULL
);
CREATE TABLE public.queue (
    id bigint NOT NULL,
    resource_id bigint NOT NULL,
    kind text NOT NULL,
    kind_version integer NOT NULL,
    "position" bigint NOT NULL,
    held boolean NOT NULL,
    reasons smallint NOT NULL,
    again smallint NOT NULL,
    seq bigint NOT NULL,
    claimed_seq bigint NOT NULL,
    done smallint NOT NULL,
    emitted text NOT NULL,
    stage text,
    generation bigint NOT NULL,
    epoch bigint NOT NULL,
    token text,
    claimed_by text,
    worker text,
    heartbeat_at bigint,
    superseded text,
    void_told boolean NOT NULL,
    attempts integer NOT NULL,
    progress double precision,
    progress_message text NOT NULL,
    claimed_at bigint
);
CREATE TABLE public.reactor_bindings (
    name text NOT NULL,
    watch_kind text NOT NULL,
    watch_kind_version integer,
    transition text NOT NULL,
    reactor text NOT NULL,
    reactor_version integer,
    label_match text NOT NULL,
    enabled boolean NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    labels text DEFAULT '{}'::text NOT NULL
);
CREATE TABLE public.rechecks (
    what smallint NOT NULL,
    resource_id bigint NOT NULL
);
CREATE SEQUENCE public.resource_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE public.resource_labels (
    key text NOT NULL,
    value text NOT NULL,
    resource_id bigint NOT NULL
);
CREATE TABLE public.resources (
    id bigint NOT NULL,
    uid text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    kind_version integer NOT NULL,
    owner_id bigint,
    root_id bigint,
    generation bigint NOT NULL,
    worked_gen bigint NOT NULL,
    synced_gen bigint NOT NULL,
    composed_gen bigint NOT NULL,
    failure_gen bigint NOT NULL,
    failure_terminal boolean NOT NULL,
    failure_attempts integer NOT NULL,
    failure_reason text NOT NULL,
    failure_message text NOT NULL,
    health_ok boolean NOT NULL,
    due smallint NOT NULL,
    unsettled integer NOT NULL,
    unready integer NOT NULL,
    counted_unsettled boolean NOT NULL,
    counted_unready boolean NOT NULL,
    gate smallint NOT NULL,
    gate_message text NOT NULL,
    wanted boolean NOT NULL,
    deletion_requested_at bigint,
    frozen_until bigint,
    synced_changed_at bigint NOT NULL,
    ready_changed_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    provider_config text,
    finalizers text NOT NULL,
    labels text NOT NULL,
    conditions text NOT NULL,
    status text,
    spec text,
    composed_spec text,
    flowed text,
    phase text GENERATED ALWAYS AS (
CASE
    WHEN (deletion_requested_at IS NOT NULL) THEN 'Deleting'::text
    WHEN (frozen_until = '9223372036854775807'::bigint) THEN 'Quarantined'::text
    WHEN (failure_gen = generation) THEN 'Failed'::text
    WHEN (frozen_until IS NOT NULL) THEN 'Orphaned'::text
    WHEN ((synced_gen < generation) OR (unsettled > 0) OR (due > 0)) THEN 'Reconciling'::text
    WHEN ((NOT health_ok) OR (unready > 0)) THEN 'Degraded'::text
    ELSE 'Ready'::text
END) STORED,
    resync_at bigint,
    recompose boolean DEFAULT false NOT NULL,
    transition_seq bigint DEFAULT '0'::bigint NOT NULL,
    spec_gen bigint DEFAULT '1'::bigint NOT NULL,
    spec_by text DEFAULT ''::text NOT NULL,
    spec_at bigint DEFAULT '0'::bigint NOT NULL
);
CREATE TABLE public.revisions (
    resource_id bigint NOT NULL,
    generation bigint NOT NULL,
    kind_version integer NOT NULL,
    spec text,
    written_by text NOT NULL,
    written_at bigint NOT NULL
);
CREATE TABLE public.sweeps (
    subject text NOT NULL,
    after_id bigint NOT NULL
);
CREATE TABLE public.waits (
    subject text NOT NULL,
    resource_id bigint NOT NULL
);
INSERT INTO public.alembic_version VALUES
	('0010');
INSERT INTO public.counters VALUES
	('resources', 0),
	('min_compatible', 1),
	('events_pruned', 0),
	('catalog', 8),
	('writer:4536e17621a0eb90', 1796006646623084),
	('writer:35763f283a2db80e', 1796006646628676),
	('events', 85),
	('writer:76e71a984e0d638b', 1796006646636292);
INSERT INTO public.default_revisions VALUES
	('leaf', 1, 1);
INSERT INTO public.deliveries VALUES
	(22, 'b', 'created', 'ear', NULL, '018bcfe5-6800-7e7d-955c-a8f6974f5354:created:1:1:b', 1700000000000, '018bcfe5-6800-7e7d-955c-a8f6974f5354', 'leaf', 'told', 1, 1, 0, 'Reconciling', '{}', NULL, NULL, '{}', NULL, NULL, 0, '', ''),
	(20, 'b', 'created', 'ear', NULL, '018bcfe5-6800-7a0d-9809-b3444a6054d2:created:1:1:b', 1700000000000, '018bcfe5-6800-7a0d-9809-b3444a6054d2', 'leaf', 'dead', 1, 1, 0, 'Reconciling', '{}', NULL, NULL, '{}', NULL, 1700000000000, 1, 'ReactorFailed', 'nobody listens'),
	(24, 'b', 'created', 'ear', NULL, '018bcfe5-6800-704a-98c1-4b964a12a2d5:created:1:1:b', 1700000000000, '018bcfe5-6800-704a-98c1-4b964a12a2d5', 'leaf', 'retrying', 1, 1, 0, 'Reconciling', '{}', NULL, NULL, '{}', NULL, NULL, 0, '', ''),
	(26, 'b', 'created', 'ear', NULL, '018bcfe5-6800-72e1-84e4-b0fe6a37bc5a:created:1:1:b', 1700000000000, '018bcfe5-6800-72e1-84e4-b0fe6a37bc5a', 'leaf', 'leased', 1, 1, 0, 'Reconciling', '{}', NULL, NULL, '{}', NULL, NULL, 0, '', ''),
	(29, 'b', 'created', 'ear', NULL, '018bcfe5-6800-7058-9a0f-d57e125508d9:created:1:1:b', 1700000000000, '018bcfe5-6800-7058-9a0f-d57e125508d9', 'leaf', 'h', 1, 1, 0, 'Reconciling', '{}', '018bcfe5-6800-7ac2-99cc-3f16a3bd448c', '018bcfe5-6800-7ac2-99cc-3f16a3bd448c', '{}', NULL, NULL, 0, '', ''),
	(31, 'b', 'created', 'ear', NULL, '018bcfe5-6800-79eb-8120-7a868859b6e8:created:1:1:b', 1700000000000, '018bcfe5-6800-79eb-8120-7a868859b6e8', 'leaf', 'new', 1, 1, 0, 'Reconciling', '{}', NULL, NULL, '{}', NULL, NULL, 0, '', '');
INSERT INTO public.edges VALUES
	(7, 6, 4, '[["/from", "/id"]]');
INSERT INTO public.events VALUES
	(1, 'leaf', NULL, NULL, 'KindPublished', '', 'leaf@1', 'test', '{"kind_version":1}', 1700000000000, true),
	(2, 'vm', NULL, NULL, 'KindPublished', '', 'vm@1', 'test', '{"kind_version":1}', 1700000000000, true),
	(3, 'group', NULL, NULL, 'KindPublished', '', 'group@1', 'test', '{"kind_version":1}', 1700000000000, true),
	(4, 'tree', NULL, NULL, 'KindPublished', '', 'tree@1', 'test', '{"kind_version":1}', 1700000000000, true),
	(5, 'leaf', 'd', NULL, 'ConfigCreated', '', 'd for leaf@1', 'ada', '{}', 1700000000000, true),
	(6, 'leaf', 'o', NULL, 'ConfigCreated', '', 'o for leaf@1', 'ada', '{}', 1700000000000, true),
	(7, 'leaf', 'ready', '018bcfe5-6800-77c6-98a2-01ba6fd47e72', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(8, 'leaf', 'configured', '018bcfe5-6800-7196-a0be-77cbe5704f17', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(9, 'leaf', 'sick', '018bcfe5-6800-7926-9f7a-72042c2d36a5', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(10, 'group', 'g', '018bcfe5-6800-7513-b6da-a1cb0ecf2c1f', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(11, 'tree', 't', '018bcfe5-6800-752d-b2af-c245a5153586', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(12, 'leaf', 'a', '018bcfe5-6800-78cd-ba76-6b8cbf3e1787', 'Created', '', '', 'engine', '{"owner":"group/g"}', 1700000000000, false),
	(13, 'leaf', 'b', '018bcfe5-6800-7258-9355-3723a97c1770', 'Created', '', '', 'engine', '{"owner":"group/g"}', 1700000000000, false),
	(14, 'vm', 'c', '018bcfe5-6800-72fb-9fa5-28b2123a06b1', 'Created', '', '', 'engine', '{"owner":"group/g"}', 1700000000000, false),
	(15, 'group', 'g', '018bcfe5-6800-7513-b6da-a1cb0ecf2c1f', 'Composed', '', '', 'engine', '{"created":3,"changed":0,"dropped":0}', 1700000000000, false),
	(16, 'leaf', 'ready', '018bcfe5-6800-77c6-98a2-01ba6fd47e72', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(17, 'leaf', 'configured', '018bcfe5-6800-7196-a0be-77cbe5704f17', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(18, 'leaf', 'sick', '018bcfe5-6800-7926-9f7a-72042c2d36a5', 'PhaseChanged', 'Degraded', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(19, 'group', 'inner', '018bcfe5-6800-765d-8b2e-841aec5a1706', 'Created', '', '', 'engine', '{"owner":"tree/t"}', 1700000000000, false),
	(20, 'tree', 't', '018bcfe5-6800-752d-b2af-c245a5153586', 'Composed', '', '', 'engine', '{"created":1,"changed":0,"dropped":0}', 1700000000000, false),
	(21, 'leaf', 'deep', '018bcfe5-6800-7433-9920-323ded744494', 'Created', '', '', 'engine', '{"owner":"group/inner"}', 1700000000000, false),
	(22, 'group', 'inner', '018bcfe5-6800-765d-8b2e-841aec5a1706', 'Composed', '', '', 'engine', '{"created":1,"changed":0,"dropped":0}', 1700000000000, false),
	(23, 'leaf', 'a', '018bcfe5-6800-78cd-ba76-6b8cbf3e1787', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(24, 'leaf', 'b', '018bcfe5-6800-7258-9355-3723a97c1770', 'SpecChanged', '', '', 'engine', '{"generation":2}', 1700000000000, false),
	(25, 'vm', 'c', '018bcfe5-6800-72fb-9fa5-28b2123a06b1', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(26, 'leaf', 'deep', '018bcfe5-6800-7433-9920-323ded744494', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(27, 'group', 'inner', '018bcfe5-6800-765d-8b2e-841aec5a1706', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(28, 'leaf', 'b', '018bcfe5-6800-7258-9355-3723a97c1770', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(29, 'group', 'g', '018bcfe5-6800-7513-b6da-a1cb0ecf2c1f', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(30, 'tree', 't', '018bcfe5-6800-752d-b2af-c245a5153586', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(31, 'leaf', 'ready', '018bcfe5-6800-77c6-98a2-01ba6fd47e72', 'SpecChanged', '', '', 'test', '{"generation":2}', 1700000000000, true),
	(32, 'leaf', 'ready', '018bcfe5-6800-77c6-98a2-01ba6fd47e72', 'PhaseChanged', 'Reconciling', '', 'test', '{"previous":"Ready"}', 1700000000000, false),
	(33, 'leaf', 'ready', '018bcfe5-6800-77c6-98a2-01ba6fd47e72', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(34, 'leaf', 'failed', '018bcfe5-6800-7caa-ba33-dcc158474c63', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(35, 'leaf', 'failed', '018bcfe5-6800-7caa-ba33-dcc158474c63', 'TaskFailed', 'NoZone', 'there is no such zone', 'engine', '{"stage":"work","terminal":true,"attempts":0}', 1700000000000, false),
	(36, 'leaf', 'failed', '018bcfe5-6800-7caa-ba33-dcc158474c63', 'PhaseChanged', 'Failed', 'there is no such zone', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(37, 'group', 'stuck', '018bcfe5-6800-7dac-98e7-ddb296b134c8', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(38, 'group', 'stuck', '018bcfe5-6800-7dac-98e7-ddb296b134c8', 'TaskFailed', 'NotOwned', 'leaf/ready exists and is not owned by group/stuck', 'engine', '{"stage":"compose","terminal":true,"attempts":0}', 1700000000000, false),
	(39, 'group', 'stuck', '018bcfe5-6800-7dac-98e7-ddb296b134c8', 'PhaseChanged', 'Failed', 'leaf/ready exists and is not owned by group/stuck', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(40, 'vm', 'going', '018bcfe5-6800-75a7-873d-ca7d34acf0df', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(41, 'vm', 'going', '018bcfe5-6800-75a7-873d-ca7d34acf0df', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(42, 'vm', 'going', '018bcfe5-6800-75a7-873d-ca7d34acf0df', 'DeleteRequested', '', '', 'test', '{}', 1700000000000, true),
	(43, 'vm', 'going', '018bcfe5-6800-75a7-873d-ca7d34acf0df', 'PhaseChanged', 'Deleting', '', 'test', '{"previous":"Ready"}', 1700000000000, false),
	(44, 'vm', 'going', '018bcfe5-6800-75a7-873d-ca7d34acf0df', 'TaskFailed', 'ReconcileError', 'it is in use', 'engine', '{"stage":"delete","terminal":false,"attempts":1}', 1700000000000, false),
	(45, 'vm', 'poked', '018bcfe5-6800-7e7c-a926-4e3460b8e8b2', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(46, 'vm', 'poked', '018bcfe5-6800-7e7c-a926-4e3460b8e8b2', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(47, 'vm', 'poked', '018bcfe5-6800-7e7c-a926-4e3460b8e8b2', 'OperationRequested', '', 'poke', 'someone', '{"operation":"018bcfe5-6800-71f1-bcf5-77f8a35b7a9c"}', 1700000000000, true),
	(48, 'vm', 'poked', '018bcfe5-6800-7e7c-a926-4e3460b8e8b2', 'OperationSucceeded', '', 'poke', 'engine', '{"operation":"018bcfe5-6800-71f1-bcf5-77f8a35b7a9c","verb":"poke"}', 1700000000000, false),
	(49, 'vm', 'poked', '018bcfe5-6800-7e7c-a926-4e3460b8e8b2', 'OperationRequested', '', 'poke', 'someone', '{"operation":"018bcfe5-6800-7123-86b1-92332dcc8b3d"}', 1700000000000, true),
	(50, 'vm', 'poked', '018bcfe5-6800-7e7c-a926-4e3460b8e8b2', 'OperationRequested', '', 'poke', 'someone', '{"operation":"018bcfe5-6800-7860-9997-d93957df5d44"}', 1700000000000, true),
	(51, 'kept', NULL, NULL, 'KindPublished', '', 'kept@1', 'test', '{"kind_version":1}', 1700000000000, true),
	(52, 'leaf', 'frozen', '018bcfe5-6800-7531-b379-d0cf6dde5c61', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(53, 'group', 'drops', '018bcfe5-6800-7c65-a29f-995193958a48', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(54, 'kept', 'o', '018bcfe5-6800-7d76-9ce0-ac164c27812f', 'Created', '', '', 'engine', '{"owner":"group/drops"}', 1700000000000, false),
	(55, 'leaf', 'stays', '018bcfe5-6800-76d6-81ad-e5ed00e4387c', 'Created', '', '', 'engine', '{"owner":"group/drops"}', 1700000000000, false),
	(56, 'group', 'drops', '018bcfe5-6800-7c65-a29f-995193958a48', 'Composed', '', '', 'engine', '{"created":2,"changed":0,"dropped":0}', 1700000000000, false),
	(63, 'leaf', 'frozen', '018bcfe5-6800-7531-b379-d0cf6dde5c61', 'Quarantined', '', '', 'ada', '{}', 1700000000000, true),
	(64, 'leaf', 'frozen', '018bcfe5-6800-7531-b379-d0cf6dde5c61', 'PhaseChanged', 'Quarantined', '', 'ada', '{"previous":"Ready"}', 1700000000000, false),
	(71, 'ear', NULL, NULL, 'KindPublished', '', 'ear@1', 'test', '{"kind_version":1}', 1700000000000, true),
	(72, 'ear', 'b', NULL, 'BindingCreated', '', 'b: created leaf → ear', 'ada', '{"enabled":true,"label_match":{}}', 1700000000000, true),
	(77, 'leaf', 'told', '018bcfe5-6800-7e7d-955c-a8f6974f5354', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(79, 'leaf', 'leased', '018bcfe5-6800-72e1-84e4-b0fe6a37bc5a', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(83, 'leaf', 'h', '018bcfe5-6800-7058-9a0f-d57e125508d9', 'Created', '', '', 'engine', '{"owner":"group/half"}', 1700000000000, false),
	(84, 'group', 'half', '018bcfe5-6800-7ac2-99cc-3f16a3bd448c', 'Composed', '', '', 'engine', '{"created":1,"changed":0,"dropped":0}', 1700000000000, false),
	(57, 'leaf', 'frozen', '018bcfe5-6800-7531-b379-d0cf6dde5c61', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(67, 'kept', 'o', '018bcfe5-6800-7d76-9ce0-ac164c27812f', 'Orphaned', '', 'it is deleted in 315360000 s unless group/drops emits it again', 'engine', '{}', 1700000000000, false),
	(68, 'group', 'drops', '018bcfe5-6800-7c65-a29f-995193958a48', 'Composed', '', '', 'engine', '{"created":0,"changed":0,"dropped":1}', 1700000000000, false),
	(69, 'group', 'drops', '018bcfe5-6800-7c65-a29f-995193958a48', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(70, 'kept', 'o', '018bcfe5-6800-7d76-9ce0-ac164c27812f', 'PhaseChanged', 'Orphaned', '', 'engine', '{"previous":"Ready"}', 1700000000000, false),
	(74, 'leaf', 'told', '018bcfe5-6800-7e7d-955c-a8f6974f5354', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(78, 'leaf', 'retrying', '018bcfe5-6800-704a-98c1-4b964a12a2d5', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(80, 'leaf', 'retrying', '018bcfe5-6800-704a-98c1-4b964a12a2d5', 'TaskFailed', 'ReconcileError', 'the zone is full', 'engine', '{"stage":"work","terminal":false,"attempts":1}', 1700000000000, false),
	(81, 'leaf', 'retrying', '018bcfe5-6800-704a-98c1-4b964a12a2d5', 'PhaseChanged', 'Failed', 'the zone is full', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(85, 'leaf', 'new', '018bcfe5-6800-79eb-8120-7a868859b6e8', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(58, 'vm', 'poked', '018bcfe5-6800-7e7c-a926-4e3460b8e8b2', 'OperationSucceeded', '', 'poke', 'engine', '{"operation":"018bcfe5-6800-7123-86b1-92332dcc8b3d","verb":"poke"}', 1700000000000, false),
	(59, 'kept', 'o', '018bcfe5-6800-7d76-9ce0-ac164c27812f', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(60, 'leaf', 'stays', '018bcfe5-6800-76d6-81ad-e5ed00e4387c', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(61, 'group', 'drops', '018bcfe5-6800-7c65-a29f-995193958a48', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(62, 'vm', 'poked', '018bcfe5-6800-7e7c-a926-4e3460b8e8b2', 'OperationSucceeded', '', 'poke', 'engine', '{"operation":"018bcfe5-6800-7860-9997-d93957df5d44","verb":"poke"}', 1700000000000, false),
	(65, 'group', 'drops', '018bcfe5-6800-7c65-a29f-995193958a48', 'SpecChanged', '', '', 'test', '{"generation":2}', 1700000000000, true),
	(66, 'group', 'drops', '018bcfe5-6800-7c65-a29f-995193958a48', 'PhaseChanged', 'Reconciling', '', 'test', '{"previous":"Ready"}', 1700000000000, false),
	(73, 'leaf', 'dead', '018bcfe5-6800-7a0d-9809-b3444a6054d2', 'Created', '', '', 'test', '{}', 1700000000000, true),
	(75, 'leaf', 'dead', '018bcfe5-6800-7a0d-9809-b3444a6054d2', 'DeliveryGivenUp', 'ReactorFailed', 'nobody listens', 'engine', '{"delivery":20,"binding":"b","transition":"created","dedup_token":"018bcfe5-6800-7a0d-9809-b3444a6054d2:created:1:1:b","attempts":1}', 1700000000000, false),
	(76, 'leaf', 'dead', '018bcfe5-6800-7a0d-9809-b3444a6054d2', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000, false),
	(82, 'group', 'half', '018bcfe5-6800-7ac2-99cc-3f16a3bd448c', 'Created', '', '', 'test', '{}', 1700000000000, true);
INSERT INTO public.kinds VALUES
	('leaf', 1, '{"kind":"leaf","kind_version":1,"reactions":[{"name":"make","trigger":"specChange","emits":["status","conditions"]}],"spec_schema":{"type":"object","properties":{"n":{"type":"number"},"x":{"type":"number"}}},"config_schema":{"type":"object","properties":{"n":{"type":"number"},"x":{"type":"number"}}}}', 1488566820075934, '{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}', 1700000000000, '{}'),
	('vm', 1, '{"kind":"vm","kind_version":1,"reactions":[{"name":"make","trigger":"specChange","emits":["status","conditions"]},{"name":"drop","trigger":"deleteRequested","emits":["finalizer"],"finalizer":"drop"},{"name":"poke","trigger":"operation","verb":"poke","emits":["operationOutput"]}]}', 5192019651447560, '{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}', 1700000000000, '{}'),
	('group', 1, '{"kind":"group","kind_version":1,"reactions":[{"name":"plan","trigger":"specChange","emits":["children","edges","configs","status","conditions"]}]}', 8009008682940530, '{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}', 1700000000000, '{}'),
	('tree', 1, '{"kind":"tree","kind_version":1,"reactions":[{"name":"plan","trigger":"specChange","emits":["children","edges","configs","status","conditions"]},{"name":"sum","trigger":"childrenSettled","emits":["status"]}]}', 8145044562894384, '{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}', 1700000000000, '{}'),
	('kept', 1, '{"kind":"kept","kind_version":1,"reactions":[{"name":"make","trigger":"specChange","emits":["status","conditions"]}],"orphan_grace_secs":315360000}', 6542475886008723, '{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":315360000,"max_transient_attempts":0,"retired":false}', 1700000000000, '{}'),
	('ear', 1, '{"kind":"ear","kind_version":1,"reactions":[{"name":"hear","trigger":"reactor","emits":["sideEffect"]}]}', 4862495169904855, '{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}', 1700000000000, '{}');
INSERT INTO public.operations VALUES
	('018bcfe5-6800-71f1-bcf5-77f8a35b7a9c', 14, 1, 'poke', NULL, 'someone', 1700000000000, 'succeeded', '{"n":1.0}', '', '', 1, 1700000000000, 1700000000000),
	('018bcfe5-6800-7123-86b1-92332dcc8b3d', 14, 2, 'poke', NULL, 'someone', 1700000000000, 'succeeded', NULL, '', '', 1, 1700000000000, 1700000000000),
	('018bcfe5-6800-7860-9997-d93957df5d44', 14, 3, 'poke', NULL, 'someone', 1700000000000, 'succeeded', NULL, '', '', 1, 1700000000000, 1700000000000);
INSERT INTO public.phase_counts VALUES
	('leaf', 'Degraded', 1),
	('tree', 'Ready', 1),
	('tree', 'Reconciling', 0),
	('group', 'Failed', 1),
	('vm', 'Deleting', 1),
	('vm', 'Ready', 2),
	('vm', 'Reconciling', 0),
	('kept', 'Reconciling', 0),
	('leaf', 'Quarantined', 1),
	('group', 'Ready', 3),
	('kept', 'Orphaned', 1),
	('kept', 'Ready', 0),
	('leaf', 'Ready', 8),
	('leaf', 'Failed', 2),
	('group', 'Reconciling', 1),
	('leaf', 'Reconciling', 3);
INSERT INTO public.provider_configs VALUES
	('d', 'leaf', 1, true, '{"x":1.10}', '\x00ff', NULL, 1, 1700000000000, 1700000000000, '{}'),
	('o', 'leaf', 1, false, '{"x":12345678901234567890}', '\x00ff', NULL, 1, 1700000000000, 1700000000000, '{}'),
	('emitted', 'leaf', 1, false, '{"x":2}', NULL, 4, 1, 1700000000000, 1700000000000, '{}');
INSERT INTO public.queue VALUES
	(53, 13, 'vm', 1, 1700000001082000000, false, 64, 0, 0, 0, 0, '[]', NULL, 1, 1, NULL, NULL, NULL, NULL, NULL, false, 1, NULL, '', NULL),
	(91, 22, 'ear', 1, 1700000000000000030, false, 0, 0, 0, 0, 0, '[]', 'react', 1, 1, '5b-f5f4c01df6f010d12d119709ecb31afa', 'broker', 'worker', 1700000000000, NULL, false, 0, NULL, '', 1700000000000),
	(99, 24, 'ear', 1, 1700000000000000032, false, 0, 0, 0, 0, 0, '[]', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false, 0, NULL, '', NULL),
	(107, 26, 'ear', 1, 1700000000000000034, false, 0, 0, 0, 0, 0, '[]', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false, 0, NULL, '', NULL),
	(100, 25, 'leaf', 1, 1700000000000000033, false, 1, 0, 0, 0, 0, '[]', 'work', 1, 1, '64-5b4e5f8009c2945864a643283f0cf9ba', 'broker', 'worker', 1700000000000, NULL, false, 0, NULL, '', 1700000000000),
	(92, 23, 'leaf', 1, 1700000000693000000, false, 1, 0, 0, 0, 0, '[]', NULL, 1, 1, NULL, NULL, NULL, NULL, NULL, false, 1, NULL, '', NULL),
	(112, 28, 'leaf', 1, 1700000000000000036, false, 1, 0, 0, 0, 0, '[]', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false, 0, NULL, '', NULL),
	(119, 29, 'ear', 1, 1700000000000000037, false, 0, 0, 0, 0, 0, '[]', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false, 0, NULL, '', NULL),
	(120, 30, 'leaf', 1, 1700000000000000038, false, 1, 0, 0, 0, 0, '[]', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false, 0, NULL, '', NULL),
	(127, 31, 'ear', 1, 1700000000000000039, false, 0, 0, 0, 0, 0, '[]', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false, 0, NULL, '', NULL);
INSERT INTO public.reactor_bindings VALUES
	('b', 'leaf', NULL, 'created', 'ear', NULL, '{}', true, 1700000000000, 1700000000000, '{}');
INSERT INTO public.resource_labels VALUES
	('team', 'a', 1);
INSERT INTO public.resources VALUES
	(2, '018bcfe5-6800-7196-a0be-77cbe5704f17', 'leaf', 'configured', 1, NULL, NULL, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000001, 'o', '[]', '{}', '[]', '{"id":"configured","size":1.50}', '{}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(3, '018bcfe5-6800-7926-9f7a-72042c2d36a5', 'leaf', 'sick', 1, NULL, NULL, 1, 1, 1, 0, 0, false, 0, '', '', false, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000001, NULL, '[]', '{}', '[["Ready","False","Sick","the disk is slow",1,1700000000000]]', '{"id":"sick","size":1.50}', '{}', NULL, NULL, DEFAULT, NULL, false, 3, 1, 'test', 1700000000000),
	(12, '018bcfe5-6800-7dac-98e7-ddb296b134c8', 'group', 'stuck', 1, NULL, NULL, 1, 0, 0, 0, 1, true, 0, 'NotOwned', 'leaf/ready exists and is not owned by group/stuck', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000001, NULL, '[]', '{}', '[]', NULL, '{"children":[["leaf/ready"]],"edges":[]}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(10, '018bcfe5-6800-7433-9920-323ded744494', 'leaf', 'deep', 1, 9, 5, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000002, NULL, '[]', '{}', '[]', '{"id":"deep","size":1.50}', '{}', '{}', NULL, DEFAULT, NULL, false, 2, 1, 'engine', 1700000000000),
	(6, '018bcfe5-6800-78cd-ba76-6b8cbf3e1787', 'leaf', 'a', 1, 4, 4, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000002, 'emitted', '[]', '{}', '[]', '{"id":"a","size":1.50}', '{}', '{}', NULL, DEFAULT, NULL, false, 2, 1, 'engine', 1700000000000),
	(8, '018bcfe5-6800-72fb-9fa5-28b2123a06b1', 'vm', 'c', 1, 4, 4, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000002, NULL, '[]', '{}', '[]', NULL, '{}', '{}', NULL, DEFAULT, NULL, false, 2, 1, 'engine', 1700000000000),
	(9, '018bcfe5-6800-765d-8b2e-841aec5a1706', 'group', 'inner', 1, 5, 5, 1, 1, 1, 1, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000003, NULL, '[]', '{}', '[]', NULL, '{"children":[["leaf/deep"]]}', '{"children":[["leaf/deep"]]}', NULL, DEFAULT, NULL, false, 2, 1, 'engine', 1700000000000),
	(4, '018bcfe5-6800-7513-b6da-a1cb0ecf2c1f', 'group', 'g', 1, NULL, NULL, 1, 1, 1, 1, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000004, NULL, '[]', '{}', '[]', NULL, '{"children":[["leaf/a"],["leaf/b"],["vm/c"]],"edges":[["leaf/b","leaf/a",[["/from","/id"]]]]}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(7, '018bcfe5-6800-7258-9355-3723a97c1770', 'leaf', 'b', 1, 4, 4, 2, 2, 2, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000004, NULL, '[]', '{}', '[]', '{"id":"b","size":1.50}', '{"from":"a"}', '{}', '{"/from":"a"}', DEFAULT, NULL, false, 2, 2, 'engine', 1700000000000),
	(5, '018bcfe5-6800-752d-b2af-c245a5153586', 'tree', 't', 1, NULL, NULL, 1, 1, 1, 1, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000003, NULL, '[]', '{}', '[]', NULL, '{"children":[["group/inner",{"children":[["leaf/deep"]]}]],"edges":[]}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(13, '018bcfe5-6800-75a7-873d-ca7d34acf0df', 'vm', 'going', 1, NULL, NULL, 1, 1, 1, 0, 1, false, 1, 'ReconcileError', 'it is in use', true, 0, 0, 0, false, false, 0, '', true, 1700000000000, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000003, NULL, '["drop"]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(1, '018bcfe5-6800-77c6-98a2-01ba6fd47e72', 'leaf', 'ready', 1, NULL, NULL, 2, 2, 2, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000003, NULL, '[]', '{"team":"a"}', '[]', '{"id":"ready","size":1.50}', '{"n":2.5}', NULL, NULL, DEFAULT, NULL, false, 3, 2, 'test', 1700000000000),
	(11, '018bcfe5-6800-7caa-ba33-dcc158474c63', 'leaf', 'failed', 1, NULL, NULL, 1, 0, 0, 0, 1, true, 0, 'NoZone', 'there is no such zone', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000001, NULL, '[]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(14, '018bcfe5-6800-7e7c-a926-4e3460b8e8b2', 'vm', 'poked', 1, NULL, NULL, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000004, NULL, '[]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(15, '018bcfe5-6800-7531-b379-d0cf6dde5c61', 'leaf', 'frozen', 1, NULL, NULL, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, 9223372036854775807, 1700000000000, 1700000000000, 1700000000000, 1700000000002, NULL, '[]', '{}', '[]', '{"id":"frozen","size":1.50}', '{}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(18, '018bcfe5-6800-76d6-81ad-e5ed00e4387c', 'leaf', 'stays', 1, 16, 16, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000002, NULL, '[]', '{}', '[]', '{"id":"stays","size":1.50}', '{}', '{}', NULL, DEFAULT, NULL, false, 2, 1, 'engine', 1700000000000),
	(16, '018bcfe5-6800-7c65-a29f-995193958a48', 'group', 'drops', 1, NULL, NULL, 2, 2, 2, 2, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000005, NULL, '[]', '{}', '[]', NULL, '{"children":[["leaf/stays"]],"edges":[]}', NULL, NULL, DEFAULT, NULL, false, 3, 2, 'test', 1700000000000),
	(17, '018bcfe5-6800-7d76-9ce0-ac164c27812f', 'kept', 'o', 1, 16, 16, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', false, NULL, 2015360000000, 1700000000000, 1700000000000, 1700000000000, 1700000000003, NULL, '[]', '{}', '[]', NULL, '{}', '{}', NULL, DEFAULT, NULL, false, 2, 1, 'engine', 1700000000000),
	(19, '018bcfe5-6800-7a0d-9809-b3444a6054d2', 'leaf', 'dead', 1, NULL, NULL, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000001, NULL, '[]', '{}', '[]', '{"id":"dead","size":1.50}', '{}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(21, '018bcfe5-6800-7e7d-955c-a8f6974f5354', 'leaf', 'told', 1, NULL, NULL, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000001, NULL, '[]', '{}', '[]', '{"id":"told","size":1.50}', '{}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(25, '018bcfe5-6800-72e1-84e4-b0fe6a37bc5a', 'leaf', 'leased', 1, NULL, NULL, 1, 0, 0, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT, NULL, false, 1, 1, 'test', 1700000000000),
	(23, '018bcfe5-6800-704a-98c1-4b964a12a2d5', 'leaf', 'retrying', 1, NULL, NULL, 1, 0, 0, 0, 1, false, 1, 'ReconcileError', 'the zone is full', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000001, NULL, '[]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT, NULL, false, 2, 1, 'test', 1700000000000),
	(28, '018bcfe5-6800-7058-9a0f-d57e125508d9', 'leaf', 'h', 1, 27, 27, 1, 0, 0, 0, 0, false, 0, '', '', true, 0, 0, 0, true, true, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{}', '{}', NULL, DEFAULT, NULL, false, 1, 1, 'engine', 1700000000000),
	(27, '018bcfe5-6800-7ac2-99cc-3f16a3bd448c', 'group', 'half', 1, NULL, NULL, 1, 1, 0, 1, 0, false, 0, '', '', true, 0, 1, 1, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000001, NULL, '[]', '{}', '[]', NULL, '{"children":[["leaf/h"]],"edges":[]}', NULL, NULL, DEFAULT, NULL, false, 1, 1, 'test', 1700000000000),
	(30, '018bcfe5-6800-79eb-8120-7a868859b6e8', 'leaf', 'new', 1, NULL, NULL, 1, 0, 0, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT, NULL, false, 1, 1, 'test', 1700000000000);
INSERT INTO public.revisions VALUES
	(7, 1, 1, '{}', 'engine', 1700000000000),
	(1, 1, 1, '{"n":1}', 'test', 1700000000000),
	(16, 1, 1, '{"children":[["kept/o"],["leaf/stays"]],"edges":[]}', 'test', 1700000000000);
INSERT INTO public.waits VALUES
	('name:leaf/ready', 12);
SELECT pg_catalog.setval('public.resource_ids', 31, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.counters
    ADD CONSTRAINT counters_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.default_revisions
    ADD CONSTRAINT default_revisions_pkey PRIMARY KEY (kind, kind_version);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.edges
    ADD CONSTRAINT edges_pkey PRIMARY KEY (dependent_id, dependency_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.kinds
    ADD CONSTRAINT kinds_pkey PRIMARY KEY (kind, kind_version);
ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.operations
    ADD CONSTRAINT operations_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY public.phase_counts
    ADD CONSTRAINT phase_counts_pkey PRIMARY KEY (kind, phase);
ALTER TABLE ONLY public.provider_configs
    ADD CONSTRAINT provider_configs_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.reactor_bindings
    ADD CONSTRAINT reactor_bindings_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.rechecks
    ADD CONSTRAINT rechecks_pkey PRIMARY KEY (what, resource_id);
ALTER TABLE ONLY public.resource_labels
    ADD CONSTRAINT resource_labels_pkey PRIMARY KEY (key, value, resource_id);
ALTER TABLE ONLY public.resources
    ADD CONSTRAINT resources_kind_name UNIQUE (kind, name);
ALTER TABLE ONLY public.resources
    ADD CONSTRAINT resources_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.revisions
    ADD CONSTRAINT revisions_pkey PRIMARY KEY (resource_id, generation);
ALTER TABLE ONLY public.sweeps
    ADD CONSTRAINT sweeps_pkey PRIMARY KEY (subject);
ALTER TABLE ONLY public.waits
    ADD CONSTRAINT waits_pkey PRIMARY KEY (subject, resource_id);
CREATE INDEX deliveries_dead ON public.deliveries USING btree (id) WHERE (dead_at IS NOT NULL);
CREATE INDEX edges_dependency ON public.edges USING btree (dependency_id);
CREATE INDEX edges_owner ON public.edges USING btree (owner_id);
CREATE INDEX events_audited ON public.events USING btree (seq) WHERE audited;
CREATE INDEX events_resource ON public.events USING btree (kind, name, seq);
CREATE UNIQUE INDEX operations_resource ON public.operations USING btree (resource_id, number);
CREATE UNIQUE INDEX provider_configs_default ON public.provider_configs USING btree (kind, kind_version) WHERE is_default;
CREATE INDEX provider_configs_owner ON public.provider_configs USING btree (owner_id) WHERE (owner_id IS NOT NULL);
CREATE INDEX queue_claimed ON public.queue USING btree (kind, kind_version) WHERE (claimed_by IS NOT NULL);
CREATE INDEX queue_ready ON public.queue USING btree (kind, kind_version, "position") WHERE ((claimed_by IS NULL) AND (NOT held));
CREATE INDEX queue_void ON public.queue USING btree (claimed_by) WHERE ((superseded IS NOT NULL) AND (NOT void_told));
CREATE INDEX resource_labels_resource ON public.resource_labels USING btree (resource_id);
CREATE INDEX resources_config ON public.resources USING btree (provider_config) WHERE (provider_config IS NOT NULL);
CREATE INDEX resources_frozen ON public.resources USING btree (frozen_until) WHERE (frozen_until IS NOT NULL);
CREATE INDEX resources_owner ON public.resources USING btree (owner_id, counted_unready) WHERE (owner_id IS NOT NULL);
CREATE INDEX resources_pair ON public.resources USING btree (kind, kind_version, id);
CREATE INDEX resources_phase ON public.resources USING btree (phase, id) WHERE (phase <> 'Ready'::text);
CREATE INDEX resources_resync ON public.resources USING btree (resync_at) WHERE (resync_at IS NOT NULL);
CREATE UNIQUE INDEX resources_uid ON public.resources USING btree (uid);
CREATE INDEX waits_resource ON public.waits USING btree (resource_id);
