BEGIN TRANSACTION;
CREATE TABLE acceptances (
	number INTEGER NOT NULL, 
	night TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	capture TEXT NOT NULL, 
	work TEXT NOT NULL, 
	at TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	changes TEXT NOT NULL, 
	who TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (number), 
	FOREIGN KEY(night) REFERENCES nights (id)
);
CREATE TABLE judgements (
	night INTEGER NOT NULL, 
	entry SMALLINT NOT NULL, 
	metric TEXT NOT NULL, 
	position SMALLINT NOT NULL, 
	capture TEXT NOT NULL, 
	work TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	better TEXT NOT NULL, 
	scale TEXT NOT NULL, 
	threshold DOUBLE NOT NULL, 
	gated BOOLEAN NOT NULL, 
	outcome TEXT, 
	candidate DOUBLE, 
	reference DOUBLE, 
	change DOUBLE, 
	low DOUBLE, 
	high DOUBLE, 
	expected DOUBLE, 
	measured DOUBLE, 
	measured_low DOUBLE, 
	measured_high DOUBLE, 
	least DOUBLE, 
	most DOUBLE, 
	baseline TEXT NOT NULL, 
	pairs INTEGER NOT NULL, 
	reproduced BOOLEAN, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (night, entry, metric), 
	FOREIGN KEY(night) REFERENCES nights (number)
);
INSERT INTO "judgements" VALUES(1,0,'step_p50',0,'decode','w1','ns','lower','ratio',0.03,1,'regression',110.0,100.0,0.1,0.08,0.12,0.0,1.09954954040928129521e-01,NULL,NULL,110.0,112.0,'',2,1,'It is slower.');
INSERT INTO "judgements" VALUES(2,0,'step_p50',0,'decode','w1','ns','lower','ratio',0.03,1,'regression',110.0,100.0,0.1,0.08,0.12,0.0,1.04988687724901136322e-01,NULL,NULL,110.0,111.0,'',2,1,'It is slower.');
CREATE TABLE missed_nights (
	number INTEGER NOT NULL, 
	"plan" TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	due TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE ("plan", machine, due)
);
CREATE TABLE nights (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	"plan" TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	started TEXT NOT NULL, 
	outcome TEXT, 
	document TEXT NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
INSERT INTO "nights" VALUES(1,'2026-03-01T02-30-00-abcd','nightly','mini','2026-03-01T02:30:00.000+00:00','regression','{"id":"2026-03-01T02-30-00-abcd","plan":"nightly","machine":"mini","started":"2026-03-01T02:30:00.000+00:00","digest":"d1","environment":{"chip":"Apple M1","cores":8,"os":"macOS 26.0","mlx":"0.32.0"},"ended":"2026-03-01T02:55:00.000+00:00","commit":"1a2b3c4","entries":[{"capture":"decode","work":"w1","candidate":{"workload":"paged","parameters":{"batch":8,"dtype":"float16"},"python":"3.11","mlx":"0.32.0","tracekit":"0.1.0","commit":"1a2b3c4","words":"paged"},"reference":{"workload":"sdpa","parameters":{"batch":8,"dtype":"float16"},"python":"","mlx":"","tracekit":"","commit":"","words":"sdpa"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[109.0,111.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"abba","traced":false,"candidate":{"step_p50":[299.0,301.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":["the load was 3.1","on battery"],"runs":[]},{"sitting":2,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[111.0,113.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is slower.","verdict":""}],"findings":[{"rule":"small-work","message":"Work is small.","severity":"warning","traces":1,"of":1,"in_reference":0,"saving_per_token":12.5,"saving":800.0}],"outcome":"regression","reason":"step_p50 is slower.","overhead":{"ratio":0.02,"spread":0.01,"recorded":20,"unrecorded":20,"reason":""},"parity":"The quick grid agrees.","backend":"gpu","reference_kind":"","search":""}],"outcome":"regression","reason":"decode: step_p50 is slower.","partial":false,"folder":"2026-03-01T02-30-00-abcd","warnings":[],"kept":true,"format":1}');
INSERT INTO "nights" VALUES(2,'2026-03-02T02-30-00-abcd','nightly','mini','2026-03-02T02:30:00.000+00:00','regression','{"id":"2026-03-02T02-30-00-abcd","plan":"nightly","machine":"mini","started":"2026-03-02T02:30:00.000+00:00","digest":"d1","environment":{"chip":"Apple M1","cores":8,"os":"macOS 26.0","mlx":"0.32.0"},"ended":"2026-03-02T02:55:00.000+00:00","commit":"1a2b3c4","entries":[{"capture":"decode","work":"w1","candidate":{"workload":"paged","parameters":{"batch":8,"dtype":"float16"},"python":"3.11","mlx":"0.32.0","tracekit":"0.1.0","commit":"1a2b3c4","words":"paged"},"reference":{"workload":"sdpa","parameters":{"batch":8,"dtype":"float16"},"python":"","mlx":"","tracekit":"","commit":"","words":"sdpa"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[109.0,111.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"abba","traced":false,"candidate":{"step_p50":[110.0,112.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is slower.","verdict":""}],"findings":[{"rule":"small-work","message":"Work is small.","severity":"warning","traces":1,"of":1,"in_reference":0,"saving_per_token":12.5,"saving":800.0}],"outcome":"regression","reason":"step_p50 is slower.","overhead":{"ratio":0.02,"spread":0.01,"recorded":20,"unrecorded":20,"reason":""},"parity":"The quick grid agrees.","backend":"gpu","reference_kind":"","search":""}],"outcome":"regression","reason":"decode: step_p50 is slower.","partial":false,"folder":"2026-03-02T02-30-00-abcd","warnings":[],"kept":true,"format":1}');
CREATE TABLE pins (
	number INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	pinned BOOLEAN NOT NULL, 
	at TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (number)
);
CREATE TABLE tracekit_history_version (
	version_num TEXT NOT NULL, 
	PRIMARY KEY (version_num)
);
INSERT INTO "tracekit_history_version" VALUES('0003');
CREATE INDEX nights_of_a_plan ON nights ("plan", machine, started);
CREATE INDEX acceptances_of_a_capture ON acceptances (machine, capture, work);
CREATE TRIGGER missed_nights_refuses_update BEFORE UPDATE ON missed_nights BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER missed_nights_refuses_delete BEFORE DELETE ON missed_nights BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER nights_refuses_update BEFORE UPDATE ON nights BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER nights_refuses_delete BEFORE DELETE ON nights BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER pins_refuses_update BEFORE UPDATE ON pins BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER pins_refuses_delete BEFORE DELETE ON pins BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER acceptances_refuses_update BEFORE UPDATE ON acceptances BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER acceptances_refuses_delete BEFORE DELETE ON acceptances BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER judgements_refuses_update BEFORE UPDATE ON judgements BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER judgements_refuses_delete BEFORE DELETE ON judgements BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
COMMIT;
