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
	PRIMARY KEY (number), 
	FOREIGN KEY(night) REFERENCES nights (id)
);
INSERT INTO "acceptances" VALUES(1,'2026-03-01T02-30-00-abcd','mini','decode','w1','2026-03-05T08:00:00.000+00:00','as it is','{"step_p50":[0.09531017980432477,0.1043600153242421]}');
INSERT INTO "acceptances" VALUES(2,'2026-03-02T02-30-00-abcd','mini','prefill','w1','2026-03-05T09:00:00.000+00:00','as it was','{"step_p50":[0.09531017980432477,0.1043600153242421]}');
CREATE TABLE entries (
	night INTEGER NOT NULL, 
	position SMALLINT NOT NULL, 
	capture TEXT NOT NULL, 
	work TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	parameters TEXT NOT NULL, 
	candidate TEXT NOT NULL, 
	candidate_commit TEXT NOT NULL, 
	candidate_mlx TEXT NOT NULL, 
	reference TEXT, 
	outcome TEXT, 
	reason TEXT NOT NULL, 
	parity TEXT NOT NULL, 
	backend TEXT NOT NULL, 
	overhead DOUBLE, 
	overhead_spread DOUBLE, 
	PRIMARY KEY (night, position), 
	FOREIGN KEY(night) REFERENCES nights (number), 
	UNIQUE (night, capture)
);
INSERT INTO "entries" VALUES(1,0,'decode','w1','paged','{"batch":8,"dtype":"float16"}','paged','1a2b3c4','0.32.0','sdpa','regression','step_p50 is slower.','The quick grid agrees.','gpu',0.02,0.01);
INSERT INTO "entries" VALUES(1,1,'prefill','w1','paged','{"batch":8,"dtype":"float16"}','paged','1a2b3c4','0.32.0','sdpa','regression','step_p50 is slower.','The quick grid agrees.','gpu',0.02,0.01);
INSERT INTO "entries" VALUES(2,0,'decode','w1','paged','{"batch":8,"dtype":"float16"}','paged','1a2b3c4','0.32.0','sdpa','regression','step_p50 is slower.','The quick grid agrees.','gpu',0.02,0.01);
INSERT INTO "entries" VALUES(4,0,'decode','w1','paged','{"batch":8,"dtype":"float16"}','paged','1a2b3c4','0.32.0','sdpa','regression','step_p50 is slower.','The quick grid agrees.','gpu',0.02,0.01);
CREATE TABLE environments (
	digest TEXT NOT NULL, 
	chip TEXT NOT NULL, 
	os TEXT NOT NULL, 
	os_build TEXT NOT NULL, 
	xcode_build TEXT NOT NULL, 
	python TEXT NOT NULL, 
	mlx TEXT NOT NULL, 
	cores INTEGER, 
	tracekit TEXT NOT NULL, 
	recorder TEXT NOT NULL, 
	document TEXT NOT NULL, 
	PRIMARY KEY (digest)
);
INSERT INTO "environments" VALUES('6d6f62d913eb8e0a','Apple M1','macOS 26.0','','','','0.32.0',8,'','','{"chip":"Apple M1","cores":8,"mlx":"0.32.0","os":"macOS 26.0"}');
INSERT INTO "environments" VALUES('8b0bf59a6611c427','Apple M4','','','','','',NULL,'','','{"chip":"Apple M4"}');
CREATE TABLE findings (
	night INTEGER NOT NULL, 
	entry SMALLINT NOT NULL, 
	position SMALLINT NOT NULL, 
	rule TEXT NOT NULL, 
	message TEXT NOT NULL, 
	severity TEXT NOT NULL, 
	traces INTEGER NOT NULL, 
	of_traces INTEGER NOT NULL, 
	in_reference INTEGER NOT NULL, 
	saving_per_token DOUBLE, 
	saving DOUBLE, 
	PRIMARY KEY (night, entry, position), 
	FOREIGN KEY(night, entry) REFERENCES entries (night, position)
);
INSERT INTO "findings" VALUES(1,0,0,'small-work','Work is small.','warning',1,1,0,12.5,800.0);
INSERT INTO "findings" VALUES(1,1,0,'small-work','Work is small.','warning',1,1,0,12.5,800.0);
INSERT INTO "findings" VALUES(2,0,0,'small-work','Work is small.','warning',1,1,0,12.5,800.0);
INSERT INTO "findings" VALUES(4,0,0,'small-work','Work is small.','warning',1,1,0,12.5,800.0);
CREATE TABLE judgements (
	night INTEGER NOT NULL, 
	entry SMALLINT NOT NULL, 
	metric TEXT NOT NULL, 
	position SMALLINT NOT NULL, 
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
	FOREIGN KEY(night, entry) REFERENCES entries (night, position)
);
INSERT INTO "judgements" VALUES(1,0,'step_p50',0,'ns','lower','ratio',0.03,1,'regression',110.0,100.0,0.1,0.08,0.12,0.0,0.0999999999999999,NULL,NULL,110.0,110.0,'',2,1,'It is slower.');
INSERT INTO "judgements" VALUES(1,0,'bubble_share',1,'ratio','lower','difference',0.03,1,'regression',110.0,100.0,0.1,0.08,0.12,0.0,NULL,NULL,NULL,NULL,NULL,'',2,1,'It is μs.');
INSERT INTO "judgements" VALUES(1,1,'step_p50',0,'ns','lower','ratio',0.03,1,'regression',110.0,100.0,0.1,0.08,0.12,0.0,1.04988687724901136322e-01,NULL,NULL,110.0,111.0,'',2,1,'It is slower.');
INSERT INTO "judgements" VALUES(2,0,'step_p50',0,'ns','lower','ratio',0.03,1,'regression',110.0,100.0,0.1,0.08,0.12,0.0,1.04988687724901136322e-01,NULL,NULL,110.0,111.0,'',2,1,'It is slower.');
INSERT INTO "judgements" VALUES(4,0,'step_p50',0,'ns','lower','ratio',0.03,1,'regression',110.0,100.0,0.1,0.08,0.12,0.0,1.04988687724901136322e-01,NULL,NULL,110.0,111.0,'',2,1,'It is slower.');
CREATE TABLE missed_nights (
	number INTEGER NOT NULL, 
	"plan" TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	due TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE ("plan", machine, due)
);
INSERT INTO "missed_nights" VALUES(1,'nightly','mini','2026-03-05T02:30:00.000+00:00','asleep');
CREATE TABLE nights (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	"plan" TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	environment TEXT NOT NULL, 
	started TEXT NOT NULL, 
	ended TEXT NOT NULL, 
	git_commit TEXT NOT NULL, 
	outcome TEXT, 
	reason TEXT NOT NULL, 
	partial BOOLEAN NOT NULL, 
	folder TEXT NOT NULL, 
	format INTEGER NOT NULL, 
	document TEXT NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE (id), 
	FOREIGN KEY(environment) REFERENCES environments (digest)
);
INSERT INTO "nights" VALUES(1,'2026-03-02T02-30-00-abcd','nightly','d1','mini','6d6f62d913eb8e0a','2026-03-02T02:30:00.000+00:00','2026-03-02T02:55:00.000+00:00','1a2b3c4','regression','decode: step_p50 is slower.',0,'2026-03-02T02-30-00-abcd',1,'{"id":"2026-03-02T02-30-00-abcd","plan":"nightly","machine":"mini","started":"2026-03-02T02:30:00.000+00:00","digest":"d1","environment":{"chip":"Apple M1","cores":8,"os":"macOS 26.0","mlx":"0.32.0"},"ended":"2026-03-02T02:55:00.000+00:00","commit":"1a2b3c4","entries":[{"capture":"decode","work":"w1","candidate":{"workload":"paged","parameters":{"batch":8,"dtype":"float16"},"python":"3.11","mlx":"0.32.0","tracekit":"0.1.0","commit":"1a2b3c4","words":"paged"},"reference":{"workload":"sdpa","parameters":{"batch":8,"dtype":"float16"},"python":"","mlx":"","tracekit":"","commit":"","words":"sdpa"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[109.0,111.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"abba","traced":false,"candidate":{"step_p50":[299.0,301.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":["the load was 3.1","on battery"],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is slower."},{"metric":"bubble_share","unit":"ratio","better":"lower","scale":"difference","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is μs."}],"findings":[{"rule":"small-work","message":"Work is small.","severity":"warning","traces":1,"of":1,"in_reference":0,"saving_per_token":12.5,"saving":800.0}],"outcome":"regression","reason":"step_p50 is slower.","overhead":{"ratio":0.02,"spread":0.01,"recorded":20,"unrecorded":20,"reason":""},"parity":"The quick grid agrees.","backend":"gpu"},{"capture":"prefill","work":"w1","candidate":{"workload":"paged","parameters":{"batch":8,"dtype":"float16"},"python":"3.11","mlx":"0.32.0","tracekit":"0.1.0","commit":"1a2b3c4","words":"paged"},"reference":{"workload":"sdpa","parameters":{"batch":8,"dtype":"float16"},"python":"","mlx":"","tracekit":"","commit":"","words":"sdpa"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[109.0,111.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"abba","traced":false,"candidate":{"step_p50":[110.0,112.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is slower."}],"findings":[{"rule":"small-work","message":"Work is small.","severity":"warning","traces":1,"of":1,"in_reference":0,"saving_per_token":12.5,"saving":800.0}],"outcome":"regression","reason":"step_p50 is slower.","overhead":{"ratio":0.02,"spread":0.01,"recorded":20,"unrecorded":20,"reason":""},"parity":"The quick grid agrees.","backend":"gpu"}],"outcome":"regression","reason":"decode: step_p50 is slower.","partial":false,"folder":"2026-03-02T02-30-00-abcd","warnings":[],"kept":true,"format":1}');
INSERT INTO "nights" VALUES(2,'2026-03-01T02-30-00-abcd','nightly','d1','mini','6d6f62d913eb8e0a','2026-03-01T02:30:00.000+00:00','2026-03-01T02:55:00.000+00:00','1a2b3c4','regression','decode: step_p50 is slower.',0,'2026-03-01T02-30-00-abcd',1,'{"id":"2026-03-01T02-30-00-abcd","plan":"nightly","machine":"mini","started":"2026-03-01T02:30:00.000+00:00","digest":"d1","environment":{"chip":"Apple M1","cores":8,"os":"macOS 26.0","mlx":"0.32.0"},"ended":"2026-03-01T02:55:00.000+00:00","commit":"1a2b3c4","entries":[{"capture":"decode","work":"w1","candidate":{"workload":"paged","parameters":{"batch":8,"dtype":"float16"},"python":"3.11","mlx":"0.32.0","tracekit":"0.1.0","commit":"1a2b3c4","words":"paged"},"reference":{"workload":"sdpa","parameters":{"batch":8,"dtype":"float16"},"python":"","mlx":"","tracekit":"","commit":"","words":"sdpa"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[109.0,111.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"abba","traced":false,"candidate":{"step_p50":[110.0,112.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is slower."}],"findings":[{"rule":"small-work","message":"Work is small.","severity":"warning","traces":1,"of":1,"in_reference":0,"saving_per_token":12.5,"saving":800.0}],"outcome":"regression","reason":"step_p50 is slower.","overhead":{"ratio":0.02,"spread":0.01,"recorded":20,"unrecorded":20,"reason":""},"parity":"The quick grid agrees.","backend":"gpu"}],"outcome":"regression","reason":"decode: step_p50 is slower.","partial":false,"folder":"2026-03-01T02-30-00-abcd","warnings":[],"kept":true,"format":1}');
INSERT INTO "nights" VALUES(3,'2026-03-03T02-30-00-abcd','nightly','d1','mini','6d6f62d913eb8e0a','2026-03-03T02:30:00.000+00:00','2026-03-03T02:55:00.000+00:00','1a2b3c4','failed','No disk.',0,'2026-03-03T02-30-00-abcd',1,'{"id":"2026-03-03T02-30-00-abcd","plan":"nightly","machine":"mini","started":"2026-03-03T02:30:00.000+00:00","digest":"d1","environment":{"chip":"Apple M1","cores":8,"os":"macOS 26.0","mlx":"0.32.0"},"ended":"2026-03-03T02:55:00.000+00:00","commit":"1a2b3c4","entries":[],"outcome":"failed","reason":"No disk.","partial":false,"folder":"2026-03-03T02-30-00-abcd","warnings":[],"kept":true,"format":1}');
INSERT INTO "nights" VALUES(4,'2026-03-04T02-30-00-abcd','nightly','d1','studio','8b0bf59a6611c427','2026-03-04T02:30:00.000+00:00','2026-03-04T02:55:00.000+00:00','1a2b3c4','regression','decode: step_p50 is slower.',1,'2026-03-04T02-30-00-abcd',1,'{"id":"2026-03-04T02-30-00-abcd","plan":"nightly","machine":"studio","started":"2026-03-04T02:30:00.000+00:00","digest":"d1","environment":{"chip":"Apple M4"},"ended":"2026-03-04T02:55:00.000+00:00","commit":"1a2b3c4","entries":[{"capture":"decode","work":"w1","candidate":{"workload":"paged","parameters":{"batch":8,"dtype":"float16"},"python":"3.11","mlx":"0.32.0","tracekit":"0.1.0","commit":"1a2b3c4","words":"paged"},"reference":{"workload":"sdpa","parameters":{"batch":8,"dtype":"float16"},"python":"","mlx":"","tracekit":"","commit":"","words":"sdpa"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_p50":[109.0,111.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"abba","traced":false,"candidate":{"step_p50":[110.0,112.0]},"reference":{"step_p50":[99.0,101.0]},"before":{"at":"2026-03-01T02:31:00+00:00","readings":{"load":0.1},"absences":{"battery":"no battery"}},"after":{"at":"2026-03-01T02:32:00+00:00","readings":{"load":0.2},"absences":{}},"contaminated":[],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"regression","candidate":110.0,"reference":100.0,"change":0.1,"low":0.08,"high":0.12,"expected":0.0,"baseline":"","pairs":2,"reproduced":true,"reason":"It is slower."}],"findings":[{"rule":"small-work","message":"Work is small.","severity":"warning","traces":1,"of":1,"in_reference":0,"saving_per_token":12.5,"saving":800.0}],"outcome":"regression","reason":"step_p50 is slower.","overhead":{"ratio":0.02,"spread":0.01,"recorded":20,"unrecorded":20,"reason":""},"parity":"The quick grid agrees.","backend":"gpu"}],"outcome":"regression","reason":"decode: step_p50 is slower.","partial":true,"folder":"2026-03-04T02-30-00-abcd","warnings":[],"kept":true,"format":1}');
CREATE TABLE pairs (
	night INTEGER NOT NULL, 
	entry SMALLINT NOT NULL, 
	position SMALLINT NOT NULL, 
	sitting SMALLINT NOT NULL, 
	number INTEGER NOT NULL, 
	turns TEXT NOT NULL, 
	traced BOOLEAN NOT NULL, 
	counted BOOLEAN NOT NULL, 
	reason TEXT NOT NULL, 
	runs TEXT NOT NULL, 
	PRIMARY KEY (night, entry, position), 
	FOREIGN KEY(night, entry) REFERENCES entries (night, position)
);
INSERT INTO "pairs" VALUES(1,0,0,1,1,'abba',0,1,'','[]');
INSERT INTO "pairs" VALUES(1,0,1,1,2,'abba',0,0,'the load was 3.1; on battery','[]');
INSERT INTO "pairs" VALUES(1,1,0,1,1,'abba',0,1,'','[]');
INSERT INTO "pairs" VALUES(1,1,1,1,2,'abba',0,1,'','[]');
INSERT INTO "pairs" VALUES(2,0,0,1,1,'abba',0,1,'','[]');
INSERT INTO "pairs" VALUES(2,0,1,1,2,'abba',0,1,'','[]');
INSERT INTO "pairs" VALUES(4,0,0,1,1,'abba',0,1,'','[]');
INSERT INTO "pairs" VALUES(4,0,1,1,2,'abba',0,1,'','[]');
CREATE TABLE pins (
	number INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	pinned BOOLEAN NOT NULL, 
	at TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "pins" VALUES(1,'2026-03-02T02-30-00-abcd',1,'2026-03-05T08:00:00.000+00:00','to look at');
INSERT INTO "pins" VALUES(2,'2026-03-01T02-30-00-abcd',1,'2026-03-05T08:00:00.000+00:00','to look at');
INSERT INTO "pins" VALUES(3,'2026-03-02T02-30-00-abcd',0,'2026-03-05T08:01:00.000+00:00','');
CREATE TABLE samples (
	night INTEGER NOT NULL, 
	entry SMALLINT NOT NULL, 
	pair SMALLINT NOT NULL, 
	metric TEXT NOT NULL, 
	side TEXT NOT NULL, 
	turn SMALLINT NOT NULL, 
	value DOUBLE NOT NULL, 
	PRIMARY KEY (night, entry, pair, metric, side, turn), 
	FOREIGN KEY(night, entry, pair) REFERENCES pairs (night, entry, position)
)
 WITHOUT ROWID

;
INSERT INTO "samples" VALUES(1,0,0,'step_p50','candidate',0,109.0);
INSERT INTO "samples" VALUES(1,0,0,'step_p50','candidate',1,111.0);
INSERT INTO "samples" VALUES(1,0,0,'step_p50','reference',0,99.0);
INSERT INTO "samples" VALUES(1,0,0,'step_p50','reference',1,101.0);
INSERT INTO "samples" VALUES(1,0,1,'step_p50','candidate',0,299.0);
INSERT INTO "samples" VALUES(1,0,1,'step_p50','candidate',1,301.0);
INSERT INTO "samples" VALUES(1,0,1,'step_p50','reference',0,99.0);
INSERT INTO "samples" VALUES(1,0,1,'step_p50','reference',1,101.0);
INSERT INTO "samples" VALUES(1,1,0,'step_p50','candidate',0,109.0);
INSERT INTO "samples" VALUES(1,1,0,'step_p50','candidate',1,111.0);
INSERT INTO "samples" VALUES(1,1,0,'step_p50','reference',0,99.0);
INSERT INTO "samples" VALUES(1,1,0,'step_p50','reference',1,101.0);
INSERT INTO "samples" VALUES(1,1,1,'step_p50','candidate',0,110.0);
INSERT INTO "samples" VALUES(1,1,1,'step_p50','candidate',1,112.0);
INSERT INTO "samples" VALUES(1,1,1,'step_p50','reference',0,99.0);
INSERT INTO "samples" VALUES(1,1,1,'step_p50','reference',1,101.0);
INSERT INTO "samples" VALUES(2,0,0,'step_p50','candidate',0,109.0);
INSERT INTO "samples" VALUES(2,0,0,'step_p50','candidate',1,111.0);
INSERT INTO "samples" VALUES(2,0,0,'step_p50','reference',0,99.0);
INSERT INTO "samples" VALUES(2,0,0,'step_p50','reference',1,101.0);
INSERT INTO "samples" VALUES(2,0,1,'step_p50','candidate',0,110.0);
INSERT INTO "samples" VALUES(2,0,1,'step_p50','candidate',1,112.0);
INSERT INTO "samples" VALUES(2,0,1,'step_p50','reference',0,99.0);
INSERT INTO "samples" VALUES(2,0,1,'step_p50','reference',1,101.0);
INSERT INTO "samples" VALUES(4,0,0,'step_p50','candidate',0,109.0);
INSERT INTO "samples" VALUES(4,0,0,'step_p50','candidate',1,111.0);
INSERT INTO "samples" VALUES(4,0,0,'step_p50','reference',0,99.0);
INSERT INTO "samples" VALUES(4,0,0,'step_p50','reference',1,101.0);
INSERT INTO "samples" VALUES(4,0,1,'step_p50','candidate',0,110.0);
INSERT INTO "samples" VALUES(4,0,1,'step_p50','candidate',1,112.0);
INSERT INTO "samples" VALUES(4,0,1,'step_p50','reference',0,99.0);
INSERT INTO "samples" VALUES(4,0,1,'step_p50','reference',1,101.0);
CREATE TABLE states (
	night INTEGER NOT NULL, 
	entry SMALLINT NOT NULL, 
	pair SMALLINT NOT NULL, 
	moment TEXT NOT NULL, 
	name TEXT NOT NULL, 
	at TEXT NOT NULL, 
	value DOUBLE, 
	absence TEXT NOT NULL, 
	PRIMARY KEY (night, entry, pair, moment, name), 
	FOREIGN KEY(night, entry, pair) REFERENCES pairs (night, entry, position)
);
INSERT INTO "states" VALUES(1,0,0,'before','load','2026-03-01T02:31:00+00:00',0.1,'');
INSERT INTO "states" VALUES(1,0,0,'before','battery','2026-03-01T02:31:00+00:00',NULL,'no battery');
INSERT INTO "states" VALUES(1,0,0,'after','load','2026-03-01T02:32:00+00:00',0.2,'');
INSERT INTO "states" VALUES(1,0,1,'before','load','2026-03-01T02:31:00+00:00',0.1,'');
INSERT INTO "states" VALUES(1,0,1,'before','battery','2026-03-01T02:31:00+00:00',NULL,'no battery');
INSERT INTO "states" VALUES(1,0,1,'after','load','2026-03-01T02:32:00+00:00',0.2,'');
INSERT INTO "states" VALUES(1,1,0,'before','load','2026-03-01T02:31:00+00:00',0.1,'');
INSERT INTO "states" VALUES(1,1,0,'before','battery','2026-03-01T02:31:00+00:00',NULL,'no battery');
INSERT INTO "states" VALUES(1,1,0,'after','load','2026-03-01T02:32:00+00:00',0.2,'');
INSERT INTO "states" VALUES(1,1,1,'before','load','2026-03-01T02:31:00+00:00',0.1,'');
INSERT INTO "states" VALUES(1,1,1,'before','battery','2026-03-01T02:31:00+00:00',NULL,'no battery');
INSERT INTO "states" VALUES(1,1,1,'after','load','2026-03-01T02:32:00+00:00',0.2,'');
INSERT INTO "states" VALUES(2,0,0,'before','load','2026-03-01T02:31:00+00:00',0.1,'');
INSERT INTO "states" VALUES(2,0,0,'before','battery','2026-03-01T02:31:00+00:00',NULL,'no battery');
INSERT INTO "states" VALUES(2,0,0,'after','load','2026-03-01T02:32:00+00:00',0.2,'');
INSERT INTO "states" VALUES(2,0,1,'before','load','2026-03-01T02:31:00+00:00',0.1,'');
INSERT INTO "states" VALUES(2,0,1,'before','battery','2026-03-01T02:31:00+00:00',NULL,'no battery');
INSERT INTO "states" VALUES(2,0,1,'after','load','2026-03-01T02:32:00+00:00',0.2,'');
INSERT INTO "states" VALUES(4,0,0,'before','load','2026-03-01T02:31:00+00:00',0.1,'');
INSERT INTO "states" VALUES(4,0,0,'before','battery','2026-03-01T02:31:00+00:00',NULL,'no battery');
INSERT INTO "states" VALUES(4,0,0,'after','load','2026-03-01T02:32:00+00:00',0.2,'');
INSERT INTO "states" VALUES(4,0,1,'before','load','2026-03-01T02:31:00+00:00',0.1,'');
INSERT INTO "states" VALUES(4,0,1,'before','battery','2026-03-01T02:31:00+00:00',NULL,'no battery');
INSERT INTO "states" VALUES(4,0,1,'after','load','2026-03-01T02:32:00+00:00',0.2,'');
CREATE TABLE tracekit_history_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT tracekit_history_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "tracekit_history_version" VALUES('0001');
CREATE INDEX nights_of_a_plan ON nights ("plan", machine, started);
CREATE INDEX acceptances_of_a_capture ON acceptances (machine, capture, work);
CREATE TRIGGER environments_refuses_update BEFORE UPDATE ON environments BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER environments_refuses_delete BEFORE DELETE ON environments BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER nights_refuses_update BEFORE UPDATE ON nights BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER nights_refuses_delete BEFORE DELETE ON nights BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER entries_refuses_update BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER entries_refuses_delete BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER pairs_refuses_update BEFORE UPDATE ON pairs BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER pairs_refuses_delete BEFORE DELETE ON pairs BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER samples_refuses_update BEFORE UPDATE ON samples BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER samples_refuses_delete BEFORE DELETE ON samples BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER judgements_refuses_update BEFORE UPDATE ON judgements BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER judgements_refuses_delete BEFORE DELETE ON judgements BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER findings_refuses_update BEFORE UPDATE ON findings BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER findings_refuses_delete BEFORE DELETE ON findings BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER states_refuses_update BEFORE UPDATE ON states BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER states_refuses_delete BEFORE DELETE ON states BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER acceptances_refuses_update BEFORE UPDATE ON acceptances BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER acceptances_refuses_delete BEFORE DELETE ON acceptances BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER pins_refuses_update BEFORE UPDATE ON pins BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER pins_refuses_delete BEFORE DELETE ON pins BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER missed_nights_refuses_update BEFORE UPDATE ON missed_nights BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER missed_nights_refuses_delete BEFORE DELETE ON missed_nights BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
COMMIT;
