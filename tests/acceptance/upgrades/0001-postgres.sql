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
    created_at bigint NOT NULL
);
CREATE TABLE public.kinds (
    kind text NOT NULL,
    kind_version integer NOT NULL,
    manifest text NOT NULL,
    manifest_version bigint NOT NULL,
    policy text NOT NULL,
    updated_at bigint NOT NULL
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
    updated_at bigint NOT NULL
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
    progress_message text NOT NULL
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
END) STORED
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
	('0001');
INSERT INTO public.counters VALUES
	('resources', 0),
	('min_compatible', 1),
	('catalog', 5),
	('events', 51);
INSERT INTO public.default_revisions VALUES
	('leaf', 1, 1);
INSERT INTO public.edges VALUES
	(7, 6, 4, '[["/from", "/id"]]');
INSERT INTO public.events VALUES
	(1, NULL, NULL, NULL, 'KindPublished', '', 'leaf@1', 'test', '{"kind":"leaf","kind_version":1}', 1700000000000),
	(2, NULL, NULL, NULL, 'KindPublished', '', 'vm@1', 'test', '{"kind":"vm","kind_version":1}', 1700000000000),
	(3, NULL, NULL, NULL, 'KindPublished', '', 'group@1', 'test', '{"kind":"group","kind_version":1}', 1700000000000),
	(4, NULL, NULL, NULL, 'KindPublished', '', 'tree@1', 'test', '{"kind":"tree","kind_version":1}', 1700000000000),
	(5, NULL, NULL, NULL, 'ConfigCreated', '', 'd for leaf@1', 'ada', '{"name":"d"}', 1700000000000),
	(6, NULL, NULL, NULL, 'ConfigCreated', '', 'o for leaf@1', 'ada', '{"name":"o"}', 1700000000000),
	(7, 'leaf', 'ready', '018bcfe5-6800-7736-8a9b-06ebba9d7a54', 'Created', '', '', 'test', '{}', 1700000000000),
	(8, 'leaf', 'configured', '018bcfe5-6800-7e5f-81be-8743ed0f0f40', 'Created', '', '', 'test', '{}', 1700000000000),
	(9, 'leaf', 'sick', '018bcfe5-6800-7fe4-bfe6-0f600e333e54', 'Created', '', '', 'test', '{}', 1700000000000),
	(10, 'group', 'g', '018bcfe5-6800-759d-87d4-c68373521b58', 'Created', '', '', 'test', '{}', 1700000000000),
	(11, 'tree', 't', '018bcfe5-6800-7f97-b2cb-a9f4ebb3eb87', 'Created', '', '', 'test', '{}', 1700000000000),
	(12, 'leaf', 'a', '018bcfe5-6800-749c-9d0d-1624cac75c45', 'Created', '', '', 'engine', '{"owner":"group/g"}', 1700000000000),
	(13, 'leaf', 'b', '018bcfe5-6800-7c0d-927e-4746fd3701f9', 'Created', '', '', 'engine', '{"owner":"group/g"}', 1700000000000),
	(14, 'vm', 'c', '018bcfe5-6800-7aaf-9f5e-b8fc60af4921', 'Created', '', '', 'engine', '{"owner":"group/g"}', 1700000000000),
	(15, 'group', 'g', '018bcfe5-6800-759d-87d4-c68373521b58', 'Composed', '', '', 'engine', '{"created":3,"changed":0,"dropped":0}', 1700000000000),
	(16, 'leaf', 'ready', '018bcfe5-6800-7736-8a9b-06ebba9d7a54', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(17, 'leaf', 'configured', '018bcfe5-6800-7e5f-81be-8743ed0f0f40', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(18, 'leaf', 'sick', '018bcfe5-6800-7fe4-bfe6-0f600e333e54', 'PhaseChanged', 'Degraded', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(19, 'group', 'inner', '018bcfe5-6800-7981-bd9f-d43fa28e9b98', 'Created', '', '', 'engine', '{"owner":"tree/t"}', 1700000000000),
	(20, 'tree', 't', '018bcfe5-6800-7f97-b2cb-a9f4ebb3eb87', 'Composed', '', '', 'engine', '{"created":1,"changed":0,"dropped":0}', 1700000000000),
	(21, 'leaf', 'deep', '018bcfe5-6800-71e5-8d0d-3be834dca9be', 'Created', '', '', 'engine', '{"owner":"group/inner"}', 1700000000000),
	(22, 'group', 'inner', '018bcfe5-6800-7981-bd9f-d43fa28e9b98', 'Composed', '', '', 'engine', '{"created":1,"changed":0,"dropped":0}', 1700000000000),
	(23, 'leaf', 'a', '018bcfe5-6800-749c-9d0d-1624cac75c45', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(24, 'vm', 'c', '018bcfe5-6800-7aaf-9f5e-b8fc60af4921', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(25, 'leaf', 'deep', '018bcfe5-6800-71e5-8d0d-3be834dca9be', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(26, 'group', 'inner', '018bcfe5-6800-7981-bd9f-d43fa28e9b98', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(27, 'leaf', 'b', '018bcfe5-6800-7c0d-927e-4746fd3701f9', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(28, 'group', 'g', '018bcfe5-6800-759d-87d4-c68373521b58', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(29, 'tree', 't', '018bcfe5-6800-7f97-b2cb-a9f4ebb3eb87', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(30, 'leaf', 'ready', '018bcfe5-6800-7736-8a9b-06ebba9d7a54', 'SpecChanged', '', '', 'test', '{"generation":2}', 1700000000000),
	(31, 'leaf', 'ready', '018bcfe5-6800-7736-8a9b-06ebba9d7a54', 'PhaseChanged', 'Reconciling', '', 'test', '{"previous":"Ready"}', 1700000000000),
	(32, 'leaf', 'ready', '018bcfe5-6800-7736-8a9b-06ebba9d7a54', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(33, 'leaf', 'failed', '018bcfe5-6800-7ffc-8552-ba9b7d3052e9', 'Created', '', '', 'test', '{}', 1700000000000),
	(34, 'leaf', 'failed', '018bcfe5-6800-7ffc-8552-ba9b7d3052e9', 'TaskFailed', 'NoZone', 'there is no such zone', 'engine', '{"stage":"work","terminal":true,"attempts":0}', 1700000000000),
	(35, 'leaf', 'failed', '018bcfe5-6800-7ffc-8552-ba9b7d3052e9', 'PhaseChanged', 'Failed', 'there is no such zone', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(36, 'group', 'stuck', '018bcfe5-6800-7320-9a6e-eadea76e9e73', 'Created', '', '', 'test', '{}', 1700000000000),
	(37, 'group', 'stuck', '018bcfe5-6800-7320-9a6e-eadea76e9e73', 'TaskFailed', 'NotOwned', 'leaf/ready exists and is not owned by group/stuck', 'engine', '{"stage":"compose","terminal":true,"attempts":0}', 1700000000000),
	(38, 'group', 'stuck', '018bcfe5-6800-7320-9a6e-eadea76e9e73', 'PhaseChanged', 'Failed', 'leaf/ready exists and is not owned by group/stuck', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(39, 'vm', 'going', '018bcfe5-6800-7127-8fd2-85d9633c95f6', 'Created', '', '', 'test', '{}', 1700000000000),
	(40, 'vm', 'going', '018bcfe5-6800-7127-8fd2-85d9633c95f6', 'PhaseChanged', 'Ready', '', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(41, 'vm', 'going', '018bcfe5-6800-7127-8fd2-85d9633c95f6', 'DeleteRequested', '', '', 'test', '{}', 1700000000000),
	(42, 'vm', 'going', '018bcfe5-6800-7127-8fd2-85d9633c95f6', 'PhaseChanged', 'Deleting', '', 'test', '{"previous":"Ready"}', 1700000000000),
	(43, 'vm', 'going', '018bcfe5-6800-7127-8fd2-85d9633c95f6', 'TaskFailed', 'ReconcileError', 'it is in use', 'engine', '{"stage":"delete","terminal":false,"attempts":1}', 1700000000000),
	(44, 'leaf', 'retrying', '018bcfe5-6800-7232-befb-b38af0e23dc9', 'Created', '', '', 'test', '{}', 1700000000000),
	(45, 'leaf', 'leased', '018bcfe5-6800-76dc-9924-8417e68092d5', 'Created', '', '', 'test', '{}', 1700000000000),
	(46, 'leaf', 'retrying', '018bcfe5-6800-7232-befb-b38af0e23dc9', 'TaskFailed', 'ReconcileError', 'the zone is full', 'engine', '{"stage":"work","terminal":false,"attempts":1}', 1700000000000),
	(47, 'leaf', 'retrying', '018bcfe5-6800-7232-befb-b38af0e23dc9', 'PhaseChanged', 'Failed', 'the zone is full', 'engine', '{"previous":"Reconciling"}', 1700000000000),
	(48, 'group', 'half', '018bcfe5-6800-7206-bd79-5a1292537206', 'Created', '', '', 'test', '{}', 1700000000000),
	(49, 'leaf', 'h', '018bcfe5-6800-753f-bf3d-222551838b55', 'Created', '', '', 'engine', '{"owner":"group/half"}', 1700000000000),
	(50, 'group', 'half', '018bcfe5-6800-7206-bd79-5a1292537206', 'Composed', '', '', 'engine', '{"created":1,"changed":0,"dropped":0}', 1700000000000),
	(51, 'leaf', 'new', '018bcfe5-6800-7775-84d2-7cc6d162a10b', 'Created', '', '', 'test', '{}', 1700000000000);
INSERT INTO public.kinds VALUES
	('leaf', 1, '{"kind":"leaf","kind_version":1,"reactions":[{"name":"make","trigger":"specChange","emits":["status","conditions"]}],"spec_schema":{"type":"object","properties":{"n":{"type":"number"},"x":{"type":"number"}}},"config_schema":{"type":"object","properties":{"n":{"type":"number"},"x":{"type":"number"}}}}', 1488566820075934, '{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}', 1700000000000),
	('vm', 1, '{"kind":"vm","kind_version":1,"reactions":[{"name":"make","trigger":"specChange","emits":["status","conditions"]},{"name":"drop","trigger":"deleteRequested","emits":["finalizer"],"finalizer":"drop"}]}', 970271691957478, '{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}', 1700000000000),
	('group', 1, '{"kind":"group","kind_version":1,"reactions":[{"name":"plan","trigger":"specChange","emits":["children","edges","configs","status","conditions"]}]}', 8009008682940530, '{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}', 1700000000000),
	('tree', 1, '{"kind":"tree","kind_version":1,"reactions":[{"name":"plan","trigger":"specChange","emits":["children","edges","configs","status","conditions"]},{"name":"sum","trigger":"childrenSettled","emits":["status"]}]}', 8145044562894384, '{"max_inflight":0,"task_deadline_seconds":0,"resync_interval_seconds":0,"resync_recomposes":false,"orphan_grace_seconds":0,"max_transient_attempts":0,"retired":false}', 1700000000000);
INSERT INTO public.phase_counts VALUES
	('leaf', 'Degraded', 1),
	('group', 'Ready', 2),
	('tree', 'Ready', 1),
	('tree', 'Reconciling', 0),
	('leaf', 'Ready', 5),
	('group', 'Failed', 1),
	('vm', 'Reconciling', 0),
	('vm', 'Deleting', 1),
	('vm', 'Ready', 1),
	('leaf', 'Failed', 2),
	('group', 'Reconciling', 1),
	('leaf', 'Reconciling', 3);
INSERT INTO public.provider_configs VALUES
	('d', 'leaf', 1, true, '{"x":1.10}', '\x00ff', NULL, 1, 1700000000000, 1700000000000),
	('o', 'leaf', 1, false, '{"x":12345678901234567890}', '\x00ff', NULL, 1, 1700000000000, 1700000000000),
	('emitted', 'leaf', 1, false, '{"x":2}', NULL, 4, 1, 1700000000000, 1700000000000);
INSERT INTO public.queue VALUES
	(53, 13, 'vm', 1, 1700000001529000000, false, 64, 0, 0, 0, 0, '[]', NULL, 1, 1, NULL, NULL, NULL, NULL, NULL, false, 1, NULL, ''),
	(60, 15, 'leaf', 1, 1700000000000000019, false, 1, 0, 0, 0, 0, '[]', 'work', 1, 1, '3c-c6004e2cf8ec40d86d8910dd8eb39256', 'broker', 'worker', 1700000000000, NULL, false, 0, NULL, ''),
	(56, 14, 'leaf', 1, 1700000000071000000, false, 1, 0, 0, 0, 0, '[]', NULL, 1, 1, NULL, NULL, NULL, NULL, NULL, false, 1, NULL, ''),
	(68, 17, 'leaf', 1, 1700000000000000021, false, 1, 0, 0, 0, 0, '[]', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false, 0, NULL, ''),
	(72, 18, 'leaf', 1, 1700000000000000022, false, 1, 0, 0, 0, 0, '[]', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false, 0, NULL, '');
INSERT INTO public.resource_labels VALUES
	('team', 'a', 1);
INSERT INTO public.resources VALUES
	(9, '018bcfe5-6800-7981-bd9f-d43fa28e9b98', 'group', 'inner', 1, 5, 5, 1, 1, 1, 1, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{"children":[["leaf/deep"]]}', '{"children":[["leaf/deep"]]}', NULL, DEFAULT),
	(2, '018bcfe5-6800-7e5f-81be-8743ed0f0f40', 'leaf', 'configured', 1, NULL, NULL, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, 'o', '[]', '{}', '[]', '{"id":"configured","size":1.50}', '{}', NULL, NULL, DEFAULT),
	(3, '018bcfe5-6800-7fe4-bfe6-0f600e333e54', 'leaf', 'sick', 1, NULL, NULL, 1, 1, 1, 0, 0, false, 0, '', '', false, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[["Ready","False","Sick","the disk is slow",1,1700000000000]]', '{"id":"sick","size":1.50}', '{}', NULL, NULL, DEFAULT),
	(15, '018bcfe5-6800-76dc-9924-8417e68092d5', 'leaf', 'leased', 1, NULL, NULL, 1, 0, 0, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT),
	(4, '018bcfe5-6800-759d-87d4-c68373521b58', 'group', 'g', 1, NULL, NULL, 1, 1, 1, 1, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{"children":[["leaf/a"],["leaf/b"],["vm/c"]],"edges":[["leaf/b","leaf/a",[["/from","/id"]]]]}', NULL, NULL, DEFAULT),
	(14, '018bcfe5-6800-7232-befb-b38af0e23dc9', 'leaf', 'retrying', 1, NULL, NULL, 1, 0, 0, 0, 1, false, 1, 'ReconcileError', 'the zone is full', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT),
	(7, '018bcfe5-6800-7c0d-927e-4746fd3701f9', 'leaf', 'b', 1, 4, 4, 2, 2, 2, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', '{"id":"b","size":1.50}', '{"from":"a"}', '{}', '{"/from":"a"}', DEFAULT),
	(6, '018bcfe5-6800-749c-9d0d-1624cac75c45', 'leaf', 'a', 1, 4, 4, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, 'emitted', '[]', '{}', '[]', '{"id":"a","size":1.50}', '{}', '{}', NULL, DEFAULT),
	(8, '018bcfe5-6800-7aaf-9f5e-b8fc60af4921', 'vm', 'c', 1, 4, 4, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{}', '{}', NULL, DEFAULT),
	(10, '018bcfe5-6800-71e5-8d0d-3be834dca9be', 'leaf', 'deep', 1, 9, 5, 1, 1, 1, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', '{"id":"deep","size":1.50}', '{}', '{}', NULL, DEFAULT),
	(5, '018bcfe5-6800-7f97-b2cb-a9f4ebb3eb87', 'tree', 't', 1, NULL, NULL, 1, 1, 1, 1, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{"children":[["group/inner",{"children":[["leaf/deep"]]}]],"edges":[]}', NULL, NULL, DEFAULT),
	(17, '018bcfe5-6800-753f-bf3d-222551838b55', 'leaf', 'h', 1, 16, 16, 1, 0, 0, 0, 0, false, 0, '', '', true, 0, 0, 0, true, true, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{}', '{}', NULL, DEFAULT),
	(1, '018bcfe5-6800-7736-8a9b-06ebba9d7a54', 'leaf', 'ready', 1, NULL, NULL, 2, 2, 2, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{"team":"a"}', '[]', '{"id":"ready","size":1.50}', '{"n":2.5}', NULL, NULL, DEFAULT),
	(11, '018bcfe5-6800-7ffc-8552-ba9b7d3052e9', 'leaf', 'failed', 1, NULL, NULL, 1, 0, 0, 0, 1, true, 0, 'NoZone', 'there is no such zone', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT),
	(12, '018bcfe5-6800-7320-9a6e-eadea76e9e73', 'group', 'stuck', 1, NULL, NULL, 1, 0, 0, 0, 1, true, 0, 'NotOwned', 'leaf/ready exists and is not owned by group/stuck', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{"children":[["leaf/ready"]],"edges":[]}', NULL, NULL, DEFAULT),
	(13, '018bcfe5-6800-7127-8fd2-85d9633c95f6', 'vm', 'going', 1, NULL, NULL, 1, 1, 1, 0, 1, false, 1, 'ReconcileError', 'it is in use', true, 0, 0, 0, false, false, 0, '', true, 1700000000000, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '["drop"]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT),
	(16, '018bcfe5-6800-7206-bd79-5a1292537206', 'group', 'half', 1, NULL, NULL, 1, 1, 0, 1, 0, false, 0, '', '', true, 0, 1, 1, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{"children":[["leaf/h"]],"edges":[]}', NULL, NULL, DEFAULT),
	(18, '018bcfe5-6800-7775-84d2-7cc6d162a10b', 'leaf', 'new', 1, NULL, NULL, 1, 0, 0, 0, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, NULL, NULL, 1700000000000, 1700000000000, 1700000000000, 1700000000000, NULL, '[]', '{}', '[]', NULL, '{}', NULL, NULL, DEFAULT);
INSERT INTO public.waits VALUES
	('name:leaf/ready', 12);
SELECT pg_catalog.setval('public.resource_ids', 18, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.counters
    ADD CONSTRAINT counters_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.default_revisions
    ADD CONSTRAINT default_revisions_pkey PRIMARY KEY (kind, kind_version);
ALTER TABLE ONLY public.edges
    ADD CONSTRAINT edges_pkey PRIMARY KEY (dependent_id, dependency_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.kinds
    ADD CONSTRAINT kinds_pkey PRIMARY KEY (kind, kind_version);
ALTER TABLE ONLY public.phase_counts
    ADD CONSTRAINT phase_counts_pkey PRIMARY KEY (kind, phase);
ALTER TABLE ONLY public.provider_configs
    ADD CONSTRAINT provider_configs_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rechecks
    ADD CONSTRAINT rechecks_pkey PRIMARY KEY (what, resource_id);
ALTER TABLE ONLY public.resource_labels
    ADD CONSTRAINT resource_labels_pkey PRIMARY KEY (key, value, resource_id);
ALTER TABLE ONLY public.resources
    ADD CONSTRAINT resources_kind_name UNIQUE (kind, name);
ALTER TABLE ONLY public.resources
    ADD CONSTRAINT resources_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sweeps
    ADD CONSTRAINT sweeps_pkey PRIMARY KEY (subject);
ALTER TABLE ONLY public.waits
    ADD CONSTRAINT waits_pkey PRIMARY KEY (subject, resource_id);
CREATE INDEX edges_dependency ON public.edges USING btree (dependency_id);
CREATE INDEX edges_owner ON public.edges USING btree (owner_id);
CREATE INDEX events_resource ON public.events USING btree (kind, name, seq);
CREATE UNIQUE INDEX provider_configs_default ON public.provider_configs USING btree (kind, kind_version) WHERE is_default;
CREATE INDEX provider_configs_owner ON public.provider_configs USING btree (owner_id) WHERE (owner_id IS NOT NULL);
CREATE INDEX queue_claimed ON public.queue USING btree (kind, kind_version) WHERE (claimed_by IS NOT NULL);
CREATE INDEX queue_ready ON public.queue USING btree (kind, kind_version, "position") WHERE ((claimed_by IS NULL) AND (NOT held));
CREATE INDEX queue_void ON public.queue USING btree (claimed_by) WHERE ((superseded IS NOT NULL) AND (NOT void_told));
CREATE INDEX resource_labels_resource ON public.resource_labels USING btree (resource_id);
CREATE INDEX resources_config ON public.resources USING btree (provider_config) WHERE (provider_config IS NOT NULL);
CREATE INDEX resources_owner ON public.resources USING btree (owner_id, counted_unready) WHERE (owner_id IS NOT NULL);
CREATE INDEX resources_pair ON public.resources USING btree (kind, kind_version, id);
CREATE INDEX resources_phase ON public.resources USING btree (phase, id) WHERE (phase <> 'Ready'::text);
CREATE UNIQUE INDEX resources_uid ON public.resources USING btree (uid);
CREATE INDEX waits_resource ON public.waits USING btree (resource_id);
