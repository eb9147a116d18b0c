
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

CREATE FUNCTION public.tracekit_history_is_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'a history is append-only'; END $$;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE public.acceptances (
    number bigint NOT NULL,
    night text NOT NULL,
    machine text NOT NULL,
    capture text NOT NULL,
    work text NOT NULL,
    at text NOT NULL,
    reason text NOT NULL,
    changes text NOT NULL
);

ALTER TABLE public.acceptances ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.acceptances_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.entries (
    night bigint NOT NULL,
    "position" smallint NOT NULL,
    capture text NOT NULL,
    work text NOT NULL,
    workload text NOT NULL,
    parameters text NOT NULL,
    candidate text NOT NULL,
    candidate_commit text NOT NULL,
    candidate_mlx text NOT NULL,
    reference text,
    outcome text,
    reason text NOT NULL,
    parity text NOT NULL,
    backend text NOT NULL,
    overhead double precision,
    overhead_spread double precision
);

CREATE TABLE public.environments (
    digest text NOT NULL,
    chip text NOT NULL,
    os text NOT NULL,
    os_build text NOT NULL,
    xcode_build text NOT NULL,
    python text NOT NULL,
    mlx text NOT NULL,
    cores integer,
    tracekit text NOT NULL,
    recorder text NOT NULL,
    document text NOT NULL
);

CREATE TABLE public.findings (
    night bigint NOT NULL,
    entry smallint NOT NULL,
    "position" smallint NOT NULL,
    rule text NOT NULL,
    message text NOT NULL,
    severity text NOT NULL,
    traces integer NOT NULL,
    of_traces integer NOT NULL,
    in_reference integer NOT NULL,
    saving_per_token double precision,
    saving double precision
);

CREATE TABLE public.judgements (
    night bigint NOT NULL,
    entry smallint NOT NULL,
    metric text NOT NULL,
    "position" smallint NOT NULL,
    unit text NOT NULL,
    better text NOT NULL,
    scale text NOT NULL,
    threshold double precision NOT NULL,
    gated boolean NOT NULL,
    outcome text,
    candidate double precision,
    reference double precision,
    change double precision,
    low double precision,
    high double precision,
    expected double precision,
    measured double precision,
    measured_low double precision,
    measured_high double precision,
    "least" double precision,
    most double precision,
    baseline text NOT NULL,
    pairs integer NOT NULL,
    reproduced boolean,
    reason text NOT NULL
);

CREATE TABLE public.missed_nights (
    number bigint NOT NULL,
    plan text NOT NULL,
    machine text NOT NULL,
    due text NOT NULL,
    reason text NOT NULL
);

ALTER TABLE public.missed_nights ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.missed_nights_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.nights (
    number bigint NOT NULL,
    id text NOT NULL,
    plan text NOT NULL,
    digest text NOT NULL,
    machine text NOT NULL,
    environment text NOT NULL,
    started text NOT NULL,
    ended text NOT NULL,
    git_commit text NOT NULL,
    outcome text,
    reason text NOT NULL,
    partial boolean NOT NULL,
    folder text NOT NULL,
    format integer NOT NULL,
    document text NOT NULL
);

ALTER TABLE public.nights ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.nights_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.pairs (
    night bigint NOT NULL,
    entry smallint NOT NULL,
    "position" smallint NOT NULL,
    sitting smallint NOT NULL,
    number integer NOT NULL,
    turns text NOT NULL,
    traced boolean NOT NULL,
    counted boolean NOT NULL,
    reason text NOT NULL,
    runs text NOT NULL
);

CREATE TABLE public.pins (
    number bigint NOT NULL,
    name text NOT NULL,
    pinned boolean NOT NULL,
    at text NOT NULL,
    reason text NOT NULL
);

ALTER TABLE public.pins ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.pins_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.samples (
    night bigint NOT NULL,
    entry smallint NOT NULL,
    pair smallint NOT NULL,
    metric text NOT NULL,
    side text NOT NULL,
    turn smallint NOT NULL,
    value double precision NOT NULL
);

CREATE TABLE public.states (
    night bigint NOT NULL,
    entry smallint NOT NULL,
    pair smallint NOT NULL,
    moment text NOT NULL,
    name text NOT NULL,
    at text NOT NULL,
    value double precision,
    absence text NOT NULL
);

CREATE TABLE public.tracekit_history_version (
    version_num character varying(32) NOT NULL
);

INSERT INTO public.acceptances OVERRIDING SYSTEM VALUE VALUES (1, '2026-03-01T02-30-00-abcd', 'mini', 'decode', 'w1', '2026-03-05T08:00:00.000+00:00', 'as it is', '{"step_p50":[0.09531017980432477,0.1043600153242421]}');
INSERT INTO public.acceptances OVERRIDING SYSTEM VALUE VALUES (2, '2026-03-02T02-30-00-abcd', 'mini', 'prefill', 'w1', '2026-03-05T09:00:00.000+00:00', 'as it was', '{"step_p50":[0.09531017980432477,0.1043600153242421]}');

INSERT INTO public.entries VALUES (1, 0, 'decode', 'w1', 'paged', '{"batch":8,"dtype":"float16"}', 'paged', '1a2b3c4', '0.32.0', 'sdpa', 'regression', 'step_p50 is slower.', 'The quick grid agrees.', 'gpu', 0.02, 0.01);
INSERT INTO public.entries VALUES (1, 1, 'prefill', 'w1', 'paged', '{"batch":8,"dtype":"float16"}', 'paged', '1a2b3c4', '0.32.0', 'sdpa', 'regression', 'step_p50 is slower.', 'The quick grid agrees.', 'gpu', 0.02, 0.01);
INSERT INTO public.entries VALUES (2, 0, 'decode', 'w1', 'paged', '{"batch":8,"dtype":"float16"}', 'paged', '1a2b3c4', '0.32.0', 'sdpa', 'regression', 'step_p50 is slower.', 'The quick grid agrees.', 'gpu', 0.02, 0.01);
INSERT INTO public.entries VALUES (4, 0, 'decode', 'w1', 'paged', '{"batch":8,"dtype":"float16"}', 'paged', '1a2b3c4', '0.32.0', 'sdpa', 'regression', 'step_p50 is slower.', 'The quick grid agrees.', 'gpu', 0.02, 0.01);

INSERT INTO public.environments VALUES ('6d6f62d913eb8e0a', 'Apple M1', 'macOS 26.0', '', '', '', '0.32.0', 8, '', '', '{"chip":"Apple M1","cores":8,"mlx":"0.32.0","os":"macOS 26.0"}');
INSERT INTO public.environments VALUES ('8b0bf59a6611c427', 'Apple M4', '', '', '', '', '', NULL, '', '', '{"chip":"Apple M4"}');

INSERT INTO public.findings VALUES (1, 0, 0, 'small-work', 'Work is small.', 'warning', 1, 1, 0, 12.5, 800);
INSERT INTO public.findings VALUES (1, 1, 0, 'small-work', 'Work is small.', 'warning', 1, 1, 0, 12.5, 800);
INSERT INTO public.findings VALUES (2, 0, 0, 'small-work', 'Work is small.', 'warning', 1, 1, 0, 12.5, 800);
INSERT INTO public.findings VALUES (4, 0, 0, 'small-work', 'Work is small.', 'warning', 1, 1, 0, 12.5, 800);

INSERT INTO public.judgements VALUES (1, 0, 'step_p50', 0, 'ns', 'lower', 'ratio', 0.03, true, 'regression', 110, 100, 0.1, 0.08, 0.12, 0, 0.0999999999999999, NULL, NULL, 110, 110, '', 2, true, 'It is slower.');
INSERT INTO public.judgements VALUES (1, 0, 'bubble_share', 1, 'ratio', 'lower', 'difference', 0.03, true, 'regression', 110, 100, 0.1, 0.08, 0.12, 0, NULL, NULL, NULL, NULL, NULL, '', 2, true, 'It is μs.');
INSERT INTO public.judgements VALUES (1, 1, 'step_p50', 0, 'ns', 'lower', 'ratio', 0.03, true, 'regression', 110, 100, 0.1, 0.08, 0.12, 0, 0.10498868772490114, NULL, NULL, 110, 111, '', 2, true, 'It is slower.');
INSERT INTO public.judgements VALUES (2, 0, 'step_p50', 0, 'ns', 'lower', 'ratio', 0.03, true, 'regression', 110, 100, 0.1, 0.08, 0.12, 0, 0.10498868772490114, NULL, NULL, 110, 111, '', 2, true, 'It is slower.');
INSERT INTO public.judgements VALUES (4, 0, 'step_p50', 0, 'ns', 'lower', 'ratio', 0.03, true, 'regression', 110, 100, 0.1, 0.08, 0.12, 0, 0.10498868772490114, NULL, NULL, 110, 111, '', 2, true, 'It is slower.');

INSERT INTO public.missed_nights OVERRIDING SYSTEM VALUE VALUES (1, 'nightly', 'mini', '2026-03-05T02:30:00.000+00:00', 'asleep');

INSERT INTO public.nights OVERRIDING SYSTEM VALUE VALUES (1, '2026-03-02T02-30-00-abcd', 'nightly', 'd1', 'mini', '6d6f62d913eb8e0a', '2026-03-02T02:30:00.000+00:00', '2026-03-02T02:55:00.000+00:00', '1a2b3c4', 'regression', 'decode: step_p50 is slower.', false, '2026-03-02T02-30-00-abcd', 1, '{"id":"2026-03-02T02-30-00-abcd","plan":"nightly","machine":"mini","started":"2026-03-02T02:30:00.000+00:00","digest":"d1","environment":{"chip":"Apple M1","cores":8,"os":"macOS 26.0","mlx":"0.32.0"},"ended":"2026-03-02T02:55:00.000+00:00","commit":"1a2b3c4","entries":[{"capture":"decode","work":"w1","candidate":{"workload":"paged","parameters":{"batch":8,"dtype":"float16"},"python":"3.11","mlx":"0.32.0","tracekit":"0.1.0","commit":"1a2b3c4","words":"paged"},"reference":{"workload":"sdpa","parameters":{"batch":8,"dtype":"float16"},"python":"","mlx":"","tracekit":"","commit":"","words":"sdpa"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[109.0,111.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"abba","traced":false,"candidate":{"step_p50":[299.0,301.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":["the load was 3.1","on battery"],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is slower."},{"metric":"bubble_share","unit":"ratio","better":"lower","scale":"difference","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is μs."}],"findings":[{"rule":"small-work","message":"Work is small.","severity":"warning","traces":1,"of":1,"in_reference":0,"saving_per_token":12.5,"saving":800.0}],"outcome":"regression","reason":"step_p50 is slower.","overhead":{"ratio":0.02,"spread":0.01,"recorded":20,"unrecorded":20,"reason":""},"parity":"The quick grid agrees.","backend":"gpu"},{"capture":"prefill","work":"w1","candidate":{"workload":"paged","parameters":{"batch":8,"dtype":"float16"},"python":"3.11","mlx":"0.32.0","tracekit":"0.1.0","commit":"1a2b3c4","words":"paged"},"reference":{"workload":"sdpa","parameters":{"batch":8,"dtype":"float16"},"python":"","mlx":"","tracekit":"","commit":"","words":"sdpa"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[109.0,111.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"abba","traced":false,"candidate":{"step_p50":[110.0,112.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is slower."}],"findings":[{"rule":"small-work","message":"Work is small.","severity":"warning","traces":1,"of":1,"in_reference":0,"saving_per_token":12.5,"saving":800.0}],"outcome":"regression","reason":"step_p50 is slower.","overhead":{"ratio":0.02,"spread":0.01,"recorded":20,"unrecorded":20,"reason":""},"parity":"The quick grid agrees.","backend":"gpu"}],"outcome":"regression","reason":"decode: step_p50 is slower.","partial":false,"folder":"2026-03-02T02-30-00-abcd","warnings":[],"kept":true,"format":1}');
INSERT INTO public.nights OVERRIDING SYSTEM VALUE VALUES (2, '2026-03-01T02-30-00-abcd', 'nightly', 'd1', 'mini', '6d6f62d913eb8e0a', '2026-03-01T02:30:00.000+00:00', '2026-03-01T02:55:00.000+00:00', '1a2b3c4', 'regression', 'decode: step_p50 is slower.', false, '2026-03-01T02-30-00-abcd', 1, '{"id":"2026-03-01T02-30-00-abcd","plan":"nightly","machine":"mini","started":"2026-03-01T02:30:00.000+00:00","digest":"d1","environment":{"chip":"Apple M1","cores":8,"os":"macOS 26.0","mlx":"0.32.0"},"ended":"2026-03-01T02:55:00.000+00:00","commit":"1a2b3c4","entries":[{"capture":"decode","work":"w1","candidate":{"workload":"paged","parameters":{"batch":8,"dtype":"float16"},"python":"3.11","mlx":"0.32.0","tracekit":"0.1.0","commit":"1a2b3c4","words":"paged"},"reference":{"workload":"sdpa","parameters":{"batch":8,"dtype":"float16"},"python":"","mlx":"","tracekit":"","commit":"","words":"sdpa"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[109.0,111.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"abba","traced":false,"candidate":{"step_p50":[110.0,112.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is slower."}],"findings":[{"rule":"small-work","message":"Work is small.","severity":"warning","traces":1,"of":1,"in_reference":0,"saving_per_token":12.5,"saving":800.0}],"outcome":"regression","reason":"step_p50 is slower.","overhead":{"ratio":0.02,"spread":0.01,"recorded":20,"unrecorded":20,"reason":""},"parity":"The quick grid agrees.","backend":"gpu"}],"outcome":"regression","reason":"decode: step_p50 is slower.","partial":false,"folder":"2026-03-01T02-30-00-abcd","warnings":[],"kept":true,"format":1}');
INSERT INTO public.nights OVERRIDING SYSTEM VALUE VALUES (3, '2026-03-03T02-30-00-abcd', 'nightly', 'd1', 'mini', '6d6f62d913eb8e0a', '2026-03-03T02:30:00.000+00:00', '2026-03-03T02:55:00.000+00:00', '1a2b3c4', 'failed', 'No disk.', false, '2026-03-03T02-30-00-abcd', 1, '{"id":"2026-03-03T02-30-00-abcd","plan":"nightly","machine":"mini","started":"2026-03-03T02:30:00.000+00:00","digest":"d1","environment":{"chip":"Apple M1","cores":8,"os":"macOS 26.0","mlx":"0.32.0"},"ended":"2026-03-03T02:55:00.000+00:00","commit":"1a2b3c4","entries":[],"outcome":"failed","reason":"No disk.","partial":false,"folder":"2026-03-03T02-30-00-abcd","warnings":[],"kept":true,"format":1}');
INSERT INTO public.nights OVERRIDING SYSTEM VALUE VALUES (4, '2026-03-04T02-30-00-abcd', 'nightly', 'd1', 'studio', '8b0bf59a6611c427', '2026-03-04T02:30:00.000+00:00', '2026-03-04T02:55:00.000+00:00', '1a2b3c4', 'regression', 'decode: step_p50 is slower.', true, '2026-03-04T02-30-00-abcd', 1, '{"id":"2026-03-04T02-30-00-abcd","plan":"nightly","machine":"studio","started":"2026-03-04T02:30:00.000+00:00","digest":"d1","environment":{"chip":"Apple M4"},"ended":"2026-03-04T02:55:00.000+00:00","commit":"1a2b3c4","entries":[{"capture":"decode","work":"w1","candidate":{"workload":"paged","parameters":{"batch":8,"dtype":"float16"},"python":"3.11","mlx":"0.32.0","tracekit":"0.1.0","commit":"1a2b3c4","words":"paged"},"reference":{"workload":"sdpa","parameters":{"batch":8,"dtype":"float16"},"python":"","mlx":"","tracekit":"","commit":"","words":"sdpa"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[109.0,111.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"abba","traced":false,"candidate":{"step_p50":[110.0,112.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is slower."}],"findings":[{"rule":"small-work","message":"Work is small.","severity":"warning","traces":1,"of":1,"in_reference":0,"saving_per_token":12.5,"saving":800.0}],"outcome":"regression","reason":"step_p50 is slower.","overhead":{"ratio":0.02,"spread":0.01,"recorded":20,"unrecorded":20,"reason":""},"parity":"The quick grid agrees.","backend":"gpu"}],"outcome":"regression","reason":"decode: step_p50 is slower.","partial":true,"folder":"2026-03-04T02-30-00-abcd","warnings":[],"kept":true,"format":1}');

INSERT INTO public.pairs VALUES (1, 0, 0, 1, 1, 'abba', false, true, '', '[]');
INSERT INTO public.pairs VALUES (1, 0, 1, 1, 2, 'abba', false, false, 'the load was 3.1; on battery', '[]');
INSERT INTO public.pairs VALUES (1, 1, 0, 1, 1, 'abba', false, true, '', '[]');
INSERT INTO public.pairs VALUES (1, 1, 1, 1, 2, 'abba', false, true, '', '[]');
INSERT INTO public.pairs VALUES (2, 0, 0, 1, 1, 'abba', false, true, '', '[]');
INSERT INTO public.pairs VALUES (2, 0, 1, 1, 2, 'abba', false, true, '', '[]');
INSERT INTO public.pairs VALUES (4, 0, 0, 1, 1, 'abba', false, true, '', '[]');
INSERT INTO public.pairs VALUES (4, 0, 1, 1, 2, 'abba', false, true, '', '[]');

INSERT INTO public.pins OVERRIDING SYSTEM VALUE VALUES (1, '2026-03-02T02-30-00-abcd', true, '2026-03-05T08:00:00.000+00:00', 'to look at');
INSERT INTO public.pins OVERRIDING SYSTEM VALUE VALUES (2, '2026-03-01T02-30-00-abcd', true, '2026-03-05T08:00:00.000+00:00', 'to look at');
INSERT INTO public.pins OVERRIDING SYSTEM VALUE VALUES (3, '2026-03-02T02-30-00-abcd', false, '2026-03-05T08:01:00.000+00:00', '');

INSERT INTO public.samples VALUES (1, 0, 0, 'step_p50', 'candidate', 0, 109);
INSERT INTO public.samples VALUES (1, 0, 0, 'step_p50', 'candidate', 1, 111);
INSERT INTO public.samples VALUES (1, 0, 0, 'step_p50', 'reference', 0, 99);
INSERT INTO public.samples VALUES (1, 0, 0, 'step_p50', 'reference', 1, 101);
INSERT INTO public.samples VALUES (1, 0, 1, 'step_p50', 'candidate', 0, 299);
INSERT INTO public.samples VALUES (1, 0, 1, 'step_p50', 'candidate', 1, 301);
INSERT INTO public.samples VALUES (1, 0, 1, 'step_p50', 'reference', 0, 99);
INSERT INTO public.samples VALUES (1, 0, 1, 'step_p50', 'reference', 1, 101);
INSERT INTO public.samples VALUES (1, 1, 0, 'step_p50', 'candidate', 0, 109);
INSERT INTO public.samples VALUES (1, 1, 0, 'step_p50', 'candidate', 1, 111);
INSERT INTO public.samples VALUES (1, 1, 0, 'step_p50', 'reference', 0, 99);
INSERT INTO public.samples VALUES (1, 1, 0, 'step_p50', 'reference', 1, 101);
INSERT INTO public.samples VALUES (1, 1, 1, 'step_p50', 'candidate', 0, 110);
INSERT INTO public.samples VALUES (1, 1, 1, 'step_p50', 'candidate', 1, 112);
INSERT INTO public.samples VALUES (1, 1, 1, 'step_p50', 'reference', 0, 99);
INSERT INTO public.samples VALUES (1, 1, 1, 'step_p50', 'reference', 1, 101);
INSERT INTO public.samples VALUES (2, 0, 0, 'step_p50', 'candidate', 0, 109);
INSERT INTO public.samples VALUES (2, 0, 0, 'step_p50', 'candidate', 1, 111);
INSERT INTO public.samples VALUES (2, 0, 0, 'step_p50', 'reference', 0, 99);
INSERT INTO public.samples VALUES (2, 0, 0, 'step_p50', 'reference', 1, 101);
INSERT INTO public.samples VALUES (2, 0, 1, 'step_p50', 'candidate', 0, 110);
INSERT INTO public.samples VALUES (2, 0, 1, 'step_p50', 'candidate', 1, 112);
INSERT INTO public.samples VALUES (2, 0, 1, 'step_p50', 'reference', 0, 99);
INSERT INTO public.samples VALUES (2, 0, 1, 'step_p50', 'reference', 1, 101);
INSERT INTO public.samples VALUES (4, 0, 0, 'step_p50', 'candidate', 0, 109);
INSERT INTO public.samples VALUES (4, 0, 0, 'step_p50', 'candidate', 1, 111);
INSERT INTO public.samples VALUES (4, 0, 0, 'step_p50', 'reference', 0, 99);
INSERT INTO public.samples VALUES (4, 0, 0, 'step_p50', 'reference', 1, 101);
INSERT INTO public.samples VALUES (4, 0, 1, 'step_p50', 'candidate', 0, 110);
INSERT INTO public.samples VALUES (4, 0, 1, 'step_p50', 'candidate', 1, 112);
INSERT INTO public.samples VALUES (4, 0, 1, 'step_p50', 'reference', 0, 99);
INSERT INTO public.samples VALUES (4, 0, 1, 'step_p50', 'reference', 1, 101);

INSERT INTO public.states VALUES (1, 0, 0, 'before', 'load', '2026-03-01T02:31:00+00:00', 0.1, '');
INSERT INTO public.states VALUES (1, 0, 0, 'before', 'battery', '2026-03-01T02:31:00+00:00', NULL, 'no battery');
INSERT INTO public.states VALUES (1, 0, 0, 'after', 'load', '2026-03-01T02:32:00+00:00', 0.2, '');
INSERT INTO public.states VALUES (1, 0, 1, 'before', 'load', '2026-03-01T02:31:00+00:00', 0.1, '');
INSERT INTO public.states VALUES (1, 0, 1, 'before', 'battery', '2026-03-01T02:31:00+00:00', NULL, 'no battery');
INSERT INTO public.states VALUES (1, 0, 1, 'after', 'load', '2026-03-01T02:32:00+00:00', 0.2, '');
INSERT INTO public.states VALUES (1, 1, 0, 'before', 'load', '2026-03-01T02:31:00+00:00', 0.1, '');
INSERT INTO public.states VALUES (1, 1, 0, 'before', 'battery', '2026-03-01T02:31:00+00:00', NULL, 'no battery');
INSERT INTO public.states VALUES (1, 1, 0, 'after', 'load', '2026-03-01T02:32:00+00:00', 0.2, '');
INSERT INTO public.states VALUES (1, 1, 1, 'before', 'load', '2026-03-01T02:31:00+00:00', 0.1, '');
INSERT INTO public.states VALUES (1, 1, 1, 'before', 'battery', '2026-03-01T02:31:00+00:00', NULL, 'no battery');
INSERT INTO public.states VALUES (1, 1, 1, 'after', 'load', '2026-03-01T02:32:00+00:00', 0.2, '');
INSERT INTO public.states VALUES (2, 0, 0, 'before', 'load', '2026-03-01T02:31:00+00:00', 0.1, '');
INSERT INTO public.states VALUES (2, 0, 0, 'before', 'battery', '2026-03-01T02:31:00+00:00', NULL, 'no battery');
INSERT INTO public.states VALUES (2, 0, 0, 'after', 'load', '2026-03-01T02:32:00+00:00', 0.2, '');
INSERT INTO public.states VALUES (2, 0, 1, 'before', 'load', '2026-03-01T02:31:00+00:00', 0.1, '');
INSERT INTO public.states VALUES (2, 0, 1, 'before', 'battery', '2026-03-01T02:31:00+00:00', NULL, 'no battery');
INSERT INTO public.states VALUES (2, 0, 1, 'after', 'load', '2026-03-01T02:32:00+00:00', 0.2, '');
INSERT INTO public.states VALUES (4, 0, 0, 'before', 'load', '2026-03-01T02:31:00+00:00', 0.1, '');
INSERT INTO public.states VALUES (4, 0, 0, 'before', 'battery', '2026-03-01T02:31:00+00:00', NULL, 'no battery');
INSERT INTO public.states VALUES (4, 0, 0, 'after', 'load', '2026-03-01T02:32:00+00:00', 0.2, '');
INSERT INTO public.states VALUES (4, 0, 1, 'before', 'load', '2026-03-01T02:31:00+00:00', 0.1, '');
INSERT INTO public.states VALUES (4, 0, 1, 'before', 'battery', '2026-03-01T02:31:00+00:00', NULL, 'no battery');
INSERT INTO public.states VALUES (4, 0, 1, 'after', 'load', '2026-03-01T02:32:00+00:00', 0.2, '');

INSERT INTO public.tracekit_history_version VALUES ('0001');

SELECT pg_catalog.setval('public.acceptances_number_seq', 2, true);

SELECT pg_catalog.setval('public.missed_nights_number_seq', 1, true);

SELECT pg_catalog.setval('public.nights_number_seq', 4, true);

SELECT pg_catalog.setval('public.pins_number_seq', 3, true);

ALTER TABLE ONLY public.acceptances
    ADD CONSTRAINT acceptances_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.entries
    ADD CONSTRAINT entries_night_capture_key UNIQUE (night, capture);

ALTER TABLE ONLY public.entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (night, "position");

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.findings
    ADD CONSTRAINT findings_pkey PRIMARY KEY (night, entry, "position");

ALTER TABLE ONLY public.judgements
    ADD CONSTRAINT judgements_pkey PRIMARY KEY (night, entry, metric);

ALTER TABLE ONLY public.missed_nights
    ADD CONSTRAINT missed_nights_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.missed_nights
    ADD CONSTRAINT missed_nights_plan_machine_due_key UNIQUE (plan, machine, due);

ALTER TABLE ONLY public.nights
    ADD CONSTRAINT nights_id_key UNIQUE (id);

ALTER TABLE ONLY public.nights
    ADD CONSTRAINT nights_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.pairs
    ADD CONSTRAINT pairs_pkey PRIMARY KEY (night, entry, "position");

ALTER TABLE ONLY public.pins
    ADD CONSTRAINT pins_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.samples
    ADD CONSTRAINT samples_pkey PRIMARY KEY (night, entry, pair, metric, side, turn);

ALTER TABLE ONLY public.states
    ADD CONSTRAINT states_pkey PRIMARY KEY (night, entry, pair, moment, name);

ALTER TABLE ONLY public.tracekit_history_version
    ADD CONSTRAINT tracekit_history_version_pkc PRIMARY KEY (version_num);

CREATE INDEX acceptances_of_a_capture ON public.acceptances USING btree (machine, capture, work);

CREATE INDEX nights_of_a_plan ON public.nights USING btree (plan, machine, started);

CREATE TRIGGER acceptances_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.acceptances FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

CREATE TRIGGER entries_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.entries FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

CREATE TRIGGER environments_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.environments FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

CREATE TRIGGER findings_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.findings FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

CREATE TRIGGER judgements_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.judgements FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

CREATE TRIGGER missed_nights_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.missed_nights FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

CREATE TRIGGER nights_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.nights FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

CREATE TRIGGER pairs_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.pairs FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

CREATE TRIGGER pins_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.pins FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

CREATE TRIGGER samples_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.samples FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

CREATE TRIGGER states_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.states FOR EACH STATEMENT EXECUTE FUNCTION public.tracekit_history_is_append_only();

ALTER TABLE ONLY public.acceptances
    ADD CONSTRAINT acceptances_night_fkey FOREIGN KEY (night) REFERENCES public.nights(id);

ALTER TABLE ONLY public.entries
    ADD CONSTRAINT entries_night_fkey FOREIGN KEY (night) REFERENCES public.nights(number);

ALTER TABLE ONLY public.findings
    ADD CONSTRAINT findings_night_entry_fkey FOREIGN KEY (night, entry) REFERENCES public.entries(night, "position");

ALTER TABLE ONLY public.judgements
    ADD CONSTRAINT judgements_night_entry_fkey FOREIGN KEY (night, entry) REFERENCES public.entries(night, "position");

ALTER TABLE ONLY public.nights
    ADD CONSTRAINT nights_environment_fkey FOREIGN KEY (environment) REFERENCES public.environments(digest);

ALTER TABLE ONLY public.pairs
    ADD CONSTRAINT pairs_night_entry_fkey FOREIGN KEY (night, entry) REFERENCES public.entries(night, "position");

ALTER TABLE ONLY public.samples
    ADD CONSTRAINT samples_night_entry_pair_fkey FOREIGN KEY (night, entry, pair) REFERENCES public.pairs(night, entry, "position");

ALTER TABLE ONLY public.states
    ADD CONSTRAINT states_night_entry_pair_fkey FOREIGN KEY (night, entry, pair) REFERENCES public.pairs(night, entry, "position");

