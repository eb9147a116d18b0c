PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE tracekit_history_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT tracekit_history_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO tracekit_history_version VALUES('0001');
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
INSERT INTO environments VALUES('dd1cbf2e9d3a61a3','Intel(R) Xeon(R) Processor','Debian GNU/Linux 12 (bookworm)','6.1.0-amd64','','3.11.7','0.32.4',2,'0.1.0','','{"architecture":"x86_64","chip":"Intel(R) Xeon(R) Processor","cores":2,"machine_id":"3bf88bcb","memory":25276510208,"mlx":"0.32.4","os":"Debian GNU/Linux 12 (bookworm)","os_build":"6.1.0-amd64","physical_cores":2,"python":"3.11.7","release":"6.1.0-amd64","system":"Linux","tracekit":"0.1.0"}');
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
INSERT INTO nights VALUES(1,'2026-11-23T14-39-57-kzsm','kept','fcce60d169f91e5e','linux-2-cores','dd1cbf2e9d3a61a3','2026-11-23T14:39:57.070+00:00','2026-11-23T14:40:16.633+00:00','','inconclusive','attend (step_p50: No night was accepted as what to expect of work that differs from the reference''s: `tracekit baseline accept NIGHT --reason TEXT`).',0,'2026-11-23T14-39-57-kzsm',1,'{"id":"2026-11-23T14-39-57-kzsm","plan":"kept","machine":"linux-2-cores","started":"2026-11-23T14:39:57.070+00:00","digest":"fcce60d169f91e5e","environment":{"system":"Linux","release":"6.1.0-amd64","os":"Debian GNU/Linux 12 (bookworm)","architecture":"x86_64","chip":"Intel(R) Xeon(R) Processor","cores":2,"physical_cores":2,"memory":25276510208,"python":"3.11.7","mlx":"0.32.4","os_build":"6.1.0-amd64","tracekit":"0.1.0","machine_id":"3bf88bcb"},"ended":"2026-11-23T14:40:16.633+00:00","commit":"","entries":[{"capture":"attend","work":"1eeff27bb36b","candidate":{"workload":"paged","parameters":{"batch":1,"q_heads":2,"kv_heads":1,"active_blocks":2},"python":"3.11.7","mlx":"0.32.4","tracekit":"0.1.0","commit":"","words":"paged, batch 1, q_heads 2, kv_heads 1, active_blocks 2"},"reference":{"workload":"paged","parameters":{"batch":1,"q_heads":2,"kv_heads":1,"active_blocks":2,"block_size":16},"python":"3.11.7","mlx":"0.32.4","tracekit":"0.1.0","commit":"","words":"block_size 16"},"pairs":[{"sitting":1,"number":1,"order":"abba","traced":false,"candidate":{"step_rate":[3430.6547096251593,3427.022159125281],"step_p50":[271985.0,266433.0],"tokens_per_second":[3430.6547096251593,3427.022159125281],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[4155.229356144709,3048.0348164234997],"step_p50":[178422.0,293309.0],"tokens_per_second":[4155.229356144709,3048.0348164234997],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:39:58.965+00:00","readings":{"canary":1093770,"load":0.03333333333404072,"memory_free":24177246208.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:39:59.221+00:00","readings":{"canary":1279568,"load":0.03921568627490351,"memory_free":24177246208.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":1,"number":2,"order":"baab","traced":false,"candidate":{"step_rate":[4375.949997610632,4840.824072252362],"step_p50":[197716.0,167237.0],"tokens_per_second":[4375.949997610632,4840.824072252362],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[3479.9817529642482,2889.127634884403],"step_p50":[258862.5,333583.0],"tokens_per_second":[3479.9817529642482,2889.127634884403],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:00.534+00:00","readings":{"canary":1259086,"load":0.0,"memory_free":24156229632.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:00.793+00:00","readings":{"canary":1296049,"load":0.0,"memory_free":24156229632.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":1,"number":3,"order":"abba","traced":false,"candidate":{"step_rate":[3563.101941534248,5199.044415636406],"step_p50":[259587.5,162260.5],"tokens_per_second":[3563.101941534248,5199.044415636406],"step_p99":[428449.24],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[4522.169438731686,4747.326068591866],"step_p50":[190450.0,191528.0],"tokens_per_second":[4522.169438731686,4747.326068591866],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:02.096+00:00","readings":{"canary":1166067,"load":0.03448275862139259,"memory_free":24176013312.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:02.352+00:00","readings":{"canary":1148338,"load":0.06000000000041794,"memory_free":24174166016.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":1,"number":4,"order":"baab","traced":false,"candidate":{"step_rate":[1819.891122618996,3877.3468562103585],"step_p50":[203750.0,192632.0],"tokens_per_second":[1819.891122618996,3877.3468562103585],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[2417.3270450599134,3603.3766304538835],"step_p50":[309955.0,233560.0],"tokens_per_second":[2417.3270450599134,3603.3766304538835],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:03.615+00:00","readings":{"canary":1060201,"load":0.033333333331110125,"memory_free":24174690304.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:03.875+00:00","readings":{"canary":1230098,"load":0.0,"memory_free":24174690304.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":1,"number":5,"order":"abba","traced":false,"candidate":{"step_rate":[2741.857779139069,3191.0833154458155],"step_p50":[263288.0,280831.0],"tokens_per_second":[2741.857779139069,3191.0833154458155],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[3230.5883636990416,3488.4535675368097],"step_p50":[278732.0,233725.0],"tokens_per_second":[3230.5883636990416,3488.4535675368097],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:04.982+00:00","readings":{"canary":1084783,"load":0.06896551724278518,"memory_free":24120963072.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:05.242+00:00","readings":{"canary":1115002,"load":0.03921568627406488,"memory_free":24123265024.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":1,"number":6,"order":"baab","traced":false,"candidate":{"step_rate":[3923.2594558747037,2135.4544587271034],"step_p50":[243786.0,310143.0],"tokens_per_second":[3923.2594558747037,2135.4544587271034],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[2874.770867131511,4194.802639529623],"step_p50":[316855.5,211395.0],"tokens_per_second":[2874.770867131511,4194.802639529623],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:06.479+00:00","readings":{"canary":1353990,"load":0.03333333333257542,"memory_free":24099991552.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:06.736+00:00","readings":{"canary":1198098,"load":0.07547169811274616,"memory_free":24099991552.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":2,"number":1,"order":"abba","traced":false,"candidate":{"step_rate":[2547.7033727945945,3806.060365204838],"step_p50":[341115.0,247344.0],"tokens_per_second":[2547.7033727945945,3806.060365204838],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[2836.109727194605,3762.63012202259],"step_p50":[318914.0,237431.0],"tokens_per_second":[2836.109727194605,3762.63012202259],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:08.313+00:00","readings":{"canary":1187855,"load":0.06666666666656561,"memory_free":24130207744.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:08.573+00:00","readings":{"canary":1041666,"load":0.03921568627406369,"memory_free":24130207744.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":2,"number":2,"order":"baab","traced":false,"candidate":{"step_rate":[2827.8606787460967,4336.120727967884],"step_p50":[272982.0,198257.0],"tokens_per_second":[2827.8606787460967,4336.120727967884],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[3395.0915463967967,2624.0624546668455],"step_p50":[269537.5,357659.0],"tokens_per_second":[3395.0915463967967,2624.0624546668455],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:09.806+00:00","readings":{"canary":1237262,"load":0.06451612903358303,"memory_free":24108089344.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:10.062+00:00","readings":{"canary":960396,"load":6.661338147750939e-16,"memory_free":24108089344.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":2,"number":3,"order":"abba","traced":false,"candidate":{"step_rate":[4237.085575021613,2598.802341940717],"step_p50":[183421.0,220513.5],"tokens_per_second":[4237.085575021613,2598.802341940717],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[4846.418981014928,4767.2293503612145],"step_p50":[186848.0,186915.5],"tokens_per_second":[4846.418981014928,4767.2293503612145],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:11.254+00:00","readings":{"canary":1153845,"load":0.03333333333404072,"memory_free":24116940800.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:11.511+00:00","readings":{"canary":1214340,"load":0.07692307692302716,"memory_free":24116940800.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":2,"number":4,"order":"baab","traced":false,"candidate":{"step_rate":[3031.6889240716932,1376.4489676561548],"step_p50":[274156.0,596890.0],"tokens_per_second":[3031.6889240716932,1376.4489676561548],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[2090.5994106898916,1137.63205301062],"step_p50":[343708.0,309526.0],"tokens_per_second":[2090.5994106898916,1137.63205301062],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:12.842+00:00","readings":{"canary":1279804,"load":0.09677419354831612,"memory_free":24117784576.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:13.105+00:00","readings":{"canary":1223385,"load":0.16363636363662334,"memory_free":24117784576.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":2,"number":5,"order":"abba","traced":false,"candidate":{"step_rate":[3215.5166387897866,3558.6071710382757],"step_p50":[237335.0,254633.0],"tokens_per_second":[3215.5166387897866,3558.6071710382757],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[3888.459828919732,2429.8399821441476],"step_p50":[230761.0,278525.0],"tokens_per_second":[3888.459828919732,2429.8399821441476],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:14.382+00:00","readings":{"canary":1200196,"load":0.03333333333404072,"memory_free":24121774080.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:14.644+00:00","readings":{"canary":1174433,"load":0.11111111111105085,"memory_free":24121774080.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]},{"sitting":2,"number":6,"order":"baab","traced":false,"candidate":{"step_rate":[2930.87792659959,3496.012098998672],"step_p50":[266000.0,254800.5],"tokens_per_second":[2930.87792659959,3496.012098998672],"max_error":[0.0004788630372635372]},"reference":{"step_rate":[2601.940006468823,2592.8200922415695],"step_p50":[317713.0,283832.0],"tokens_per_second":[2601.940006468823,2592.8200922415695],"max_error":[0.00042471945514734456]},"before":{"at":"2026-11-23T14:40:16.111+00:00","readings":{"canary":1246060,"load":0.0937499999980016,"memory_free":24116654080.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"after":{"at":"2026-11-23T14:40:16.374+00:00","readings":{"canary":1203527,"load":0.17241379310402435,"memory_free":24116654080.0},"absences":{"gpu_others":"Linux does not say whose work a GPU does; a traced capture does, afterwards.","gpu_clock":"no monitor that tells it can be read here.","low_power":"this Linux has no platform profile.","thermal_pressure":"Linux has no thermal pressure.","mains":"the system tells of no battery.","battery":"the system tells of no battery."}},"contaminated":[],"runs":[]}],"judged":[{"metric":"step_p50","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":true,"outcome":"inconclusive","candidate":253192.125,"reference":267941.375,"change":-0.014731452280168492,"low":-0.12704305082182213,"high":0.0987492377264409,"expected":null,"baseline":"","pairs":12,"reproduced":null,"reason":"No night was accepted as what to expect of work that differs from the reference''s: `tracekit baseline accept NIGHT --reason TEXT`."},{"metric":"tokens_per_second","unit":"tokens/s","better":"higher","scale":"ratio","threshold":0.05,"gated":false,"outcome":null,"candidate":3300.2534588565813,"reference":3241.9623092664615,"change":0.015213706651873419,"low":-0.09673027670385496,"high":0.17374553855068536,"expected":null,"baseline":"","pairs":12,"reproduced":null,"reason":"No night was accepted as what to expect of work that differs from the reference''s: `tracekit baseline accept NIGHT --reason TEXT`."},{"metric":"step_p99","unit":"ns","better":"lower","scale":"ratio","threshold":0.03,"gated":false,"outcome":null,"candidate":428449.24,"reference":null,"change":null,"low":null,"high":null,"expected":null,"baseline":"","pairs":1,"reproduced":null,"reason":"The reference did not say its step_p99, or not as a number."}],"findings":[],"outcome":"inconclusive","reason":"step_p50: No night was accepted as what to expect of work that differs from the reference''s: `tracekit baseline accept NIGHT --reason TEXT`.","overhead":null,"parity":"","backend":"cpu"}],"outcome":"inconclusive","reason":"attend (step_p50: No night was accepted as what to expect of work that differs from the reference''s: `tracekit baseline accept NIGHT --reason TEXT`).","partial":false,"folder":"2026-11-23T14-39-57-kzsm","warnings":["Not known here, and so not judged: the GPU''s clock; whether the machine is on mains; the battery''s charge; the thermal pressure; what other processes take of the GPU; whether the system saves power. `tracekit doctor` says why."],"kept":true,"format":1}');
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
INSERT INTO entries VALUES(1,0,'attend','1eeff27bb36b','paged','{"batch":1,"q_heads":2,"kv_heads":1,"active_blocks":2}','paged, batch 1, q_heads 2, kv_heads 1, active_blocks 2','','0.32.4','block_size 16','inconclusive','step_p50: No night was accepted as what to expect of work that differs from the reference''s: `tracekit baseline accept NIGHT --reason TEXT`.','','cpu',NULL,NULL);
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
INSERT INTO pairs VALUES(1,0,0,1,1,'abba',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,1,1,2,'baab',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,2,1,3,'abba',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,3,1,4,'baab',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,4,1,5,'abba',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,5,1,6,'baab',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,6,2,1,'abba',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,7,2,2,'baab',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,8,2,3,'abba',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,9,2,4,'baab',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,10,2,5,'abba',0,1,'','[]');
INSERT INTO pairs VALUES(1,0,11,2,6,'baab',0,1,'','[]');
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
INSERT INTO samples VALUES(1,0,0,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,0,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,0,'step_p50','candidate',0,271985.0);
INSERT INTO samples VALUES(1,0,0,'step_p50','candidate',1,266433.0);
INSERT INTO samples VALUES(1,0,0,'step_p50','reference',0,178422.0);
INSERT INTO samples VALUES(1,0,0,'step_p50','reference',1,293309.0);
INSERT INTO samples VALUES(1,0,0,'step_rate','candidate',0,3430.6547096251592847);
INSERT INTO samples VALUES(1,0,0,'step_rate','candidate',1,3427.0221591252811776);
INSERT INTO samples VALUES(1,0,0,'step_rate','reference',0,4155.2293561447086176);
INSERT INTO samples VALUES(1,0,0,'step_rate','reference',1,3048.0348164234997057);
INSERT INTO samples VALUES(1,0,0,'tokens_per_second','candidate',0,3430.6547096251592847);
INSERT INTO samples VALUES(1,0,0,'tokens_per_second','candidate',1,3427.0221591252811776);
INSERT INTO samples VALUES(1,0,0,'tokens_per_second','reference',0,4155.2293561447086176);
INSERT INTO samples VALUES(1,0,0,'tokens_per_second','reference',1,3048.0348164234997057);
INSERT INTO samples VALUES(1,0,1,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,1,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,1,'step_p50','candidate',0,197716.0);
INSERT INTO samples VALUES(1,0,1,'step_p50','candidate',1,167237.0);
INSERT INTO samples VALUES(1,0,1,'step_p50','reference',0,258862.5);
INSERT INTO samples VALUES(1,0,1,'step_p50','reference',1,333583.0);
INSERT INTO samples VALUES(1,0,1,'step_rate','candidate',0,4375.9499976106317263);
INSERT INTO samples VALUES(1,0,1,'step_rate','candidate',1,4840.8240722523623845);
INSERT INTO samples VALUES(1,0,1,'step_rate','reference',0,3479.9817529642482441);
INSERT INTO samples VALUES(1,0,1,'step_rate','reference',1,2889.1276348844030508);
INSERT INTO samples VALUES(1,0,1,'tokens_per_second','candidate',0,4375.9499976106317263);
INSERT INTO samples VALUES(1,0,1,'tokens_per_second','candidate',1,4840.8240722523623845);
INSERT INTO samples VALUES(1,0,1,'tokens_per_second','reference',0,3479.9817529642482441);
INSERT INTO samples VALUES(1,0,1,'tokens_per_second','reference',1,2889.1276348844030508);
INSERT INTO samples VALUES(1,0,2,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,2,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,2,'step_p50','candidate',0,259587.49999999999999);
INSERT INTO samples VALUES(1,0,2,'step_p50','candidate',1,162260.5);
INSERT INTO samples VALUES(1,0,2,'step_p50','reference',0,190450.0);
INSERT INTO samples VALUES(1,0,2,'step_p50','reference',1,191528.0);
INSERT INTO samples VALUES(1,0,2,'step_p99','candidate',0,428449.2399999999907);
INSERT INTO samples VALUES(1,0,2,'step_rate','candidate',0,3563.1019415342479988);
INSERT INTO samples VALUES(1,0,2,'step_rate','candidate',1,5199.0444156364055742);
INSERT INTO samples VALUES(1,0,2,'step_rate','reference',0,4522.1694387316856591);
INSERT INTO samples VALUES(1,0,2,'step_rate','reference',1,4747.3260685918658055);
INSERT INTO samples VALUES(1,0,2,'tokens_per_second','candidate',0,3563.1019415342479988);
INSERT INTO samples VALUES(1,0,2,'tokens_per_second','candidate',1,5199.0444156364055742);
INSERT INTO samples VALUES(1,0,2,'tokens_per_second','reference',0,4522.1694387316856591);
INSERT INTO samples VALUES(1,0,2,'tokens_per_second','reference',1,4747.3260685918658055);
INSERT INTO samples VALUES(1,0,3,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,3,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,3,'step_p50','candidate',0,203750.0);
INSERT INTO samples VALUES(1,0,3,'step_p50','candidate',1,192632.0);
INSERT INTO samples VALUES(1,0,3,'step_p50','reference',0,309955.0);
INSERT INTO samples VALUES(1,0,3,'step_p50','reference',1,233560.0);
INSERT INTO samples VALUES(1,0,3,'step_rate','candidate',0,1819.8911226189959507);
INSERT INTO samples VALUES(1,0,3,'step_rate','candidate',1,3877.3468562103585098);
INSERT INTO samples VALUES(1,0,3,'step_rate','reference',0,2417.3270450599134164);
INSERT INTO samples VALUES(1,0,3,'step_rate','reference',1,3603.3766304538835357);
INSERT INTO samples VALUES(1,0,3,'tokens_per_second','candidate',0,1819.8911226189959507);
INSERT INTO samples VALUES(1,0,3,'tokens_per_second','candidate',1,3877.3468562103585098);
INSERT INTO samples VALUES(1,0,3,'tokens_per_second','reference',0,2417.3270450599134164);
INSERT INTO samples VALUES(1,0,3,'tokens_per_second','reference',1,3603.3766304538835357);
INSERT INTO samples VALUES(1,0,4,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,4,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,4,'step_p50','candidate',0,263288.0);
INSERT INTO samples VALUES(1,0,4,'step_p50','candidate',1,280831.0);
INSERT INTO samples VALUES(1,0,4,'step_p50','reference',0,278732.0);
INSERT INTO samples VALUES(1,0,4,'step_p50','reference',1,233725.0);
INSERT INTO samples VALUES(1,0,4,'step_rate','candidate',0,2741.8577791390689527);
INSERT INTO samples VALUES(1,0,4,'step_rate','candidate',1,3191.083315445815515);
INSERT INTO samples VALUES(1,0,4,'step_rate','reference',0,3230.5883636990415652);
INSERT INTO samples VALUES(1,0,4,'step_rate','reference',1,3488.4535675368097144);
INSERT INTO samples VALUES(1,0,4,'tokens_per_second','candidate',0,2741.8577791390689527);
INSERT INTO samples VALUES(1,0,4,'tokens_per_second','candidate',1,3191.083315445815515);
INSERT INTO samples VALUES(1,0,4,'tokens_per_second','reference',0,3230.5883636990415652);
INSERT INTO samples VALUES(1,0,4,'tokens_per_second','reference',1,3488.4535675368097144);
INSERT INTO samples VALUES(1,0,5,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,5,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,5,'step_p50','candidate',0,243786.0);
INSERT INTO samples VALUES(1,0,5,'step_p50','candidate',1,310143.0);
INSERT INTO samples VALUES(1,0,5,'step_p50','reference',0,316855.49999999999999);
INSERT INTO samples VALUES(1,0,5,'step_p50','reference',1,211395.0);
INSERT INTO samples VALUES(1,0,5,'step_rate','candidate',0,3923.2594558747036898);
INSERT INTO samples VALUES(1,0,5,'step_rate','candidate',1,2135.4544587271034289);
INSERT INTO samples VALUES(1,0,5,'step_rate','reference',0,2874.7708671315108402);
INSERT INTO samples VALUES(1,0,5,'step_rate','reference',1,4194.8026395296228656);
INSERT INTO samples VALUES(1,0,5,'tokens_per_second','candidate',0,3923.2594558747036898);
INSERT INTO samples VALUES(1,0,5,'tokens_per_second','candidate',1,2135.4544587271034289);
INSERT INTO samples VALUES(1,0,5,'tokens_per_second','reference',0,2874.7708671315108402);
INSERT INTO samples VALUES(1,0,5,'tokens_per_second','reference',1,4194.8026395296228656);
INSERT INTO samples VALUES(1,0,6,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,6,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,6,'step_p50','candidate',0,341115.0);
INSERT INTO samples VALUES(1,0,6,'step_p50','candidate',1,247344.0);
INSERT INTO samples VALUES(1,0,6,'step_p50','reference',0,318914.0);
INSERT INTO samples VALUES(1,0,6,'step_p50','reference',1,237431.0);
INSERT INTO samples VALUES(1,0,6,'step_rate','candidate',0,2547.7033727945945429);
INSERT INTO samples VALUES(1,0,6,'step_rate','candidate',1,3806.0603652048380354);
INSERT INTO samples VALUES(1,0,6,'step_rate','reference',0,2836.1097271946050569);
INSERT INTO samples VALUES(1,0,6,'step_rate','reference',1,3762.6301220225900579);
INSERT INTO samples VALUES(1,0,6,'tokens_per_second','candidate',0,2547.7033727945945429);
INSERT INTO samples VALUES(1,0,6,'tokens_per_second','candidate',1,3806.0603652048380354);
INSERT INTO samples VALUES(1,0,6,'tokens_per_second','reference',0,2836.1097271946050569);
INSERT INTO samples VALUES(1,0,6,'tokens_per_second','reference',1,3762.6301220225900579);
INSERT INTO samples VALUES(1,0,7,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,7,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,7,'step_p50','candidate',0,272982.0);
INSERT INTO samples VALUES(1,0,7,'step_p50','candidate',1,198257.0);
INSERT INTO samples VALUES(1,0,7,'step_p50','reference',0,269537.5);
INSERT INTO samples VALUES(1,0,7,'step_p50','reference',1,357659.0);
INSERT INTO samples VALUES(1,0,7,'step_rate','candidate',0,2827.8606787460967097);
INSERT INTO samples VALUES(1,0,7,'step_rate','candidate',1,4336.120727967883795);
INSERT INTO samples VALUES(1,0,7,'step_rate','reference',0,3395.0915463967967298);
INSERT INTO samples VALUES(1,0,7,'step_rate','reference',1,2624.0624546668454967);
INSERT INTO samples VALUES(1,0,7,'tokens_per_second','candidate',0,2827.8606787460967097);
INSERT INTO samples VALUES(1,0,7,'tokens_per_second','candidate',1,4336.120727967883795);
INSERT INTO samples VALUES(1,0,7,'tokens_per_second','reference',0,3395.0915463967967298);
INSERT INTO samples VALUES(1,0,7,'tokens_per_second','reference',1,2624.0624546668454967);
INSERT INTO samples VALUES(1,0,8,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,8,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,8,'step_p50','candidate',0,183421.0);
INSERT INTO samples VALUES(1,0,8,'step_p50','candidate',1,220513.5);
INSERT INTO samples VALUES(1,0,8,'step_p50','reference',0,186848.0);
INSERT INTO samples VALUES(1,0,8,'step_p50','reference',1,186915.49999999999999);
INSERT INTO samples VALUES(1,0,8,'step_rate','candidate',0,4237.0855750216132947);
INSERT INTO samples VALUES(1,0,8,'step_rate','candidate',1,2598.8023419407168148);
INSERT INTO samples VALUES(1,0,8,'step_rate','reference',0,4846.4189810149282495);
INSERT INTO samples VALUES(1,0,8,'step_rate','reference',1,4767.2293503612145288);
INSERT INTO samples VALUES(1,0,8,'tokens_per_second','candidate',0,4237.0855750216132947);
INSERT INTO samples VALUES(1,0,8,'tokens_per_second','candidate',1,2598.8023419407168148);
INSERT INTO samples VALUES(1,0,8,'tokens_per_second','reference',0,4846.4189810149282495);
INSERT INTO samples VALUES(1,0,8,'tokens_per_second','reference',1,4767.2293503612145288);
INSERT INTO samples VALUES(1,0,9,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,9,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,9,'step_p50','candidate',0,274156.0);
INSERT INTO samples VALUES(1,0,9,'step_p50','candidate',1,596890.0);
INSERT INTO samples VALUES(1,0,9,'step_p50','reference',0,343708.0);
INSERT INTO samples VALUES(1,0,9,'step_p50','reference',1,309526.0);
INSERT INTO samples VALUES(1,0,9,'step_rate','candidate',0,3031.6889240716932362);
INSERT INTO samples VALUES(1,0,9,'step_rate','candidate',1,1376.4489676561547639);
INSERT INTO samples VALUES(1,0,9,'step_rate','reference',0,2090.599410689891556);
INSERT INTO samples VALUES(1,0,9,'step_rate','reference',1,1137.632053010619984);
INSERT INTO samples VALUES(1,0,9,'tokens_per_second','candidate',0,3031.6889240716932362);
INSERT INTO samples VALUES(1,0,9,'tokens_per_second','candidate',1,1376.4489676561547639);
INSERT INTO samples VALUES(1,0,9,'tokens_per_second','reference',0,2090.599410689891556);
INSERT INTO samples VALUES(1,0,9,'tokens_per_second','reference',1,1137.632053010619984);
INSERT INTO samples VALUES(1,0,10,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,10,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,10,'step_p50','candidate',0,237335.0);
INSERT INTO samples VALUES(1,0,10,'step_p50','candidate',1,254633.0);
INSERT INTO samples VALUES(1,0,10,'step_p50','reference',0,230761.0);
INSERT INTO samples VALUES(1,0,10,'step_p50','reference',1,278525.0);
INSERT INTO samples VALUES(1,0,10,'step_rate','candidate',0,3215.5166387897866115);
INSERT INTO samples VALUES(1,0,10,'step_rate','candidate',1,3558.6071710382757374);
INSERT INTO samples VALUES(1,0,10,'step_rate','reference',0,3888.4598289197319901);
INSERT INTO samples VALUES(1,0,10,'step_rate','reference',1,2429.8399821441475979);
INSERT INTO samples VALUES(1,0,10,'tokens_per_second','candidate',0,3215.5166387897866115);
INSERT INTO samples VALUES(1,0,10,'tokens_per_second','candidate',1,3558.6071710382757374);
INSERT INTO samples VALUES(1,0,10,'tokens_per_second','reference',0,3888.4598289197319901);
INSERT INTO samples VALUES(1,0,10,'tokens_per_second','reference',1,2429.8399821441475979);
INSERT INTO samples VALUES(1,0,11,'max_error','candidate',0,0.00047886303726353719864);
INSERT INTO samples VALUES(1,0,11,'max_error','reference',0,0.0004247194551473445611);
INSERT INTO samples VALUES(1,0,11,'step_p50','candidate',0,266000.0);
INSERT INTO samples VALUES(1,0,11,'step_p50','candidate',1,254800.49999999999999);
INSERT INTO samples VALUES(1,0,11,'step_p50','reference',0,317713.0);
INSERT INTO samples VALUES(1,0,11,'step_p50','reference',1,283832.0);
INSERT INTO samples VALUES(1,0,11,'step_rate','candidate',0,2930.877926599589955);
INSERT INTO samples VALUES(1,0,11,'step_rate','candidate',1,3496.0120989986721725);
INSERT INTO samples VALUES(1,0,11,'step_rate','reference',0,2601.9400064688229577);
INSERT INTO samples VALUES(1,0,11,'step_rate','reference',1,2592.8200922415694548);
INSERT INTO samples VALUES(1,0,11,'tokens_per_second','candidate',0,2930.877926599589955);
INSERT INTO samples VALUES(1,0,11,'tokens_per_second','candidate',1,3496.0120989986721725);
INSERT INTO samples VALUES(1,0,11,'tokens_per_second','reference',0,2601.9400064688229577);
INSERT INTO samples VALUES(1,0,11,'tokens_per_second','reference',1,2592.8200922415694548);
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
INSERT INTO states VALUES(1,0,0,'before','canary','2026-11-23T14:39:58.965+00:00',1093770.0,'');
INSERT INTO states VALUES(1,0,0,'before','load','2026-11-23T14:39:58.965+00:00',0.033333333334040718409,'');
INSERT INTO states VALUES(1,0,0,'before','memory_free','2026-11-23T14:39:58.965+00:00',24177246208.0,'');
INSERT INTO states VALUES(1,0,0,'before','gpu_others','2026-11-23T14:39:58.965+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,0,'before','gpu_clock','2026-11-23T14:39:58.965+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,0,'before','low_power','2026-11-23T14:39:58.965+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,0,'before','thermal_pressure','2026-11-23T14:39:58.965+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,0,'before','mains','2026-11-23T14:39:58.965+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,0,'before','battery','2026-11-23T14:39:58.965+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,0,'after','canary','2026-11-23T14:39:59.221+00:00',1279568.0,'');
INSERT INTO states VALUES(1,0,0,'after','load','2026-11-23T14:39:59.221+00:00',0.039215686274903509278,'');
INSERT INTO states VALUES(1,0,0,'after','memory_free','2026-11-23T14:39:59.221+00:00',24177246208.0,'');
INSERT INTO states VALUES(1,0,0,'after','gpu_others','2026-11-23T14:39:59.221+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,0,'after','gpu_clock','2026-11-23T14:39:59.221+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,0,'after','low_power','2026-11-23T14:39:59.221+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,0,'after','thermal_pressure','2026-11-23T14:39:59.221+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,0,'after','mains','2026-11-23T14:39:59.221+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,0,'after','battery','2026-11-23T14:39:59.221+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,1,'before','canary','2026-11-23T14:40:00.534+00:00',1259086.0,'');
INSERT INTO states VALUES(1,0,1,'before','load','2026-11-23T14:40:00.534+00:00',0.0,'');
INSERT INTO states VALUES(1,0,1,'before','memory_free','2026-11-23T14:40:00.534+00:00',24156229632.0,'');
INSERT INTO states VALUES(1,0,1,'before','gpu_others','2026-11-23T14:40:00.534+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,1,'before','gpu_clock','2026-11-23T14:40:00.534+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,1,'before','low_power','2026-11-23T14:40:00.534+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,1,'before','thermal_pressure','2026-11-23T14:40:00.534+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,1,'before','mains','2026-11-23T14:40:00.534+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,1,'before','battery','2026-11-23T14:40:00.534+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,1,'after','canary','2026-11-23T14:40:00.793+00:00',1296049.0,'');
INSERT INTO states VALUES(1,0,1,'after','load','2026-11-23T14:40:00.793+00:00',0.0,'');
INSERT INTO states VALUES(1,0,1,'after','memory_free','2026-11-23T14:40:00.793+00:00',24156229632.0,'');
INSERT INTO states VALUES(1,0,1,'after','gpu_others','2026-11-23T14:40:00.793+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,1,'after','gpu_clock','2026-11-23T14:40:00.793+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,1,'after','low_power','2026-11-23T14:40:00.793+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,1,'after','thermal_pressure','2026-11-23T14:40:00.793+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,1,'after','mains','2026-11-23T14:40:00.793+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,1,'after','battery','2026-11-23T14:40:00.793+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,2,'before','canary','2026-11-23T14:40:02.096+00:00',1166067.0,'');
INSERT INTO states VALUES(1,0,2,'before','load','2026-11-23T14:40:02.096+00:00',0.034482758621392592401,'');
INSERT INTO states VALUES(1,0,2,'before','memory_free','2026-11-23T14:40:02.096+00:00',24176013312.0,'');
INSERT INTO states VALUES(1,0,2,'before','gpu_others','2026-11-23T14:40:02.096+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,2,'before','gpu_clock','2026-11-23T14:40:02.096+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,2,'before','low_power','2026-11-23T14:40:02.096+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,2,'before','thermal_pressure','2026-11-23T14:40:02.096+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,2,'before','mains','2026-11-23T14:40:02.096+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,2,'before','battery','2026-11-23T14:40:02.096+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,2,'after','canary','2026-11-23T14:40:02.352+00:00',1148338.0,'');
INSERT INTO states VALUES(1,0,2,'after','load','2026-11-23T14:40:02.352+00:00',0.060000000000417941237,'');
INSERT INTO states VALUES(1,0,2,'after','memory_free','2026-11-23T14:40:02.352+00:00',24174166016.0,'');
INSERT INTO states VALUES(1,0,2,'after','gpu_others','2026-11-23T14:40:02.352+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,2,'after','gpu_clock','2026-11-23T14:40:02.352+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,2,'after','low_power','2026-11-23T14:40:02.352+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,2,'after','thermal_pressure','2026-11-23T14:40:02.352+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,2,'after','mains','2026-11-23T14:40:02.352+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,2,'after','battery','2026-11-23T14:40:02.352+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,3,'before','canary','2026-11-23T14:40:03.615+00:00',1060201.0,'');
INSERT INTO states VALUES(1,0,3,'before','load','2026-11-23T14:40:03.615+00:00',0.033333333331110125141,'');
INSERT INTO states VALUES(1,0,3,'before','memory_free','2026-11-23T14:40:03.615+00:00',24174690304.0,'');
INSERT INTO states VALUES(1,0,3,'before','gpu_others','2026-11-23T14:40:03.615+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,3,'before','gpu_clock','2026-11-23T14:40:03.615+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,3,'before','low_power','2026-11-23T14:40:03.615+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,3,'before','thermal_pressure','2026-11-23T14:40:03.615+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,3,'before','mains','2026-11-23T14:40:03.615+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,3,'before','battery','2026-11-23T14:40:03.615+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,3,'after','canary','2026-11-23T14:40:03.875+00:00',1230098.0,'');
INSERT INTO states VALUES(1,0,3,'after','load','2026-11-23T14:40:03.875+00:00',0.0,'');
INSERT INTO states VALUES(1,0,3,'after','memory_free','2026-11-23T14:40:03.875+00:00',24174690304.0,'');
INSERT INTO states VALUES(1,0,3,'after','gpu_others','2026-11-23T14:40:03.875+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,3,'after','gpu_clock','2026-11-23T14:40:03.875+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,3,'after','low_power','2026-11-23T14:40:03.875+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,3,'after','thermal_pressure','2026-11-23T14:40:03.875+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,3,'after','mains','2026-11-23T14:40:03.875+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,3,'after','battery','2026-11-23T14:40:03.875+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,4,'before','canary','2026-11-23T14:40:04.982+00:00',1084783.0,'');
INSERT INTO states VALUES(1,0,4,'before','load','2026-11-23T14:40:04.982+00:00',0.068965517242785184803,'');
INSERT INTO states VALUES(1,0,4,'before','memory_free','2026-11-23T14:40:04.982+00:00',24120963072.0,'');
INSERT INTO states VALUES(1,0,4,'before','gpu_others','2026-11-23T14:40:04.982+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,4,'before','gpu_clock','2026-11-23T14:40:04.982+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,4,'before','low_power','2026-11-23T14:40:04.982+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,4,'before','thermal_pressure','2026-11-23T14:40:04.982+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,4,'before','mains','2026-11-23T14:40:04.982+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,4,'before','battery','2026-11-23T14:40:04.982+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,4,'after','canary','2026-11-23T14:40:05.242+00:00',1115002.0,'');
INSERT INTO states VALUES(1,0,4,'after','load','2026-11-23T14:40:05.242+00:00',0.0392156862740648815,'');
INSERT INTO states VALUES(1,0,4,'after','memory_free','2026-11-23T14:40:05.242+00:00',24123265024.0,'');
INSERT INTO states VALUES(1,0,4,'after','gpu_others','2026-11-23T14:40:05.242+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,4,'after','gpu_clock','2026-11-23T14:40:05.242+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,4,'after','low_power','2026-11-23T14:40:05.242+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,4,'after','thermal_pressure','2026-11-23T14:40:05.242+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,4,'after','mains','2026-11-23T14:40:05.242+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,4,'after','battery','2026-11-23T14:40:05.242+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,5,'before','canary','2026-11-23T14:40:06.479+00:00',1353990.0,'');
INSERT INTO states VALUES(1,0,5,'before','load','2026-11-23T14:40:06.479+00:00',0.033333333332575418306,'');
INSERT INTO states VALUES(1,0,5,'before','memory_free','2026-11-23T14:40:06.479+00:00',24099991552.0,'');
INSERT INTO states VALUES(1,0,5,'before','gpu_others','2026-11-23T14:40:06.479+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,5,'before','gpu_clock','2026-11-23T14:40:06.479+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,5,'before','low_power','2026-11-23T14:40:06.479+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,5,'before','thermal_pressure','2026-11-23T14:40:06.479+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,5,'before','mains','2026-11-23T14:40:06.479+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,5,'before','battery','2026-11-23T14:40:06.479+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,5,'after','canary','2026-11-23T14:40:06.736+00:00',1198098.0,'');
INSERT INTO states VALUES(1,0,5,'after','load','2026-11-23T14:40:06.736+00:00',0.075471698112746163356,'');
INSERT INTO states VALUES(1,0,5,'after','memory_free','2026-11-23T14:40:06.736+00:00',24099991552.0,'');
INSERT INTO states VALUES(1,0,5,'after','gpu_others','2026-11-23T14:40:06.736+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,5,'after','gpu_clock','2026-11-23T14:40:06.736+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,5,'after','low_power','2026-11-23T14:40:06.736+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,5,'after','thermal_pressure','2026-11-23T14:40:06.736+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,5,'after','mains','2026-11-23T14:40:06.736+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,5,'after','battery','2026-11-23T14:40:06.736+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,6,'before','canary','2026-11-23T14:40:08.313+00:00',1187855.0,'');
INSERT INTO states VALUES(1,0,6,'before','load','2026-11-23T14:40:08.313+00:00',0.06666666666656560769,'');
INSERT INTO states VALUES(1,0,6,'before','memory_free','2026-11-23T14:40:08.313+00:00',24130207744.0,'');
INSERT INTO states VALUES(1,0,6,'before','gpu_others','2026-11-23T14:40:08.313+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,6,'before','gpu_clock','2026-11-23T14:40:08.313+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,6,'before','low_power','2026-11-23T14:40:08.313+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,6,'before','thermal_pressure','2026-11-23T14:40:08.313+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,6,'before','mains','2026-11-23T14:40:08.313+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,6,'before','battery','2026-11-23T14:40:08.313+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,6,'after','canary','2026-11-23T14:40:08.573+00:00',1041666.0,'');
INSERT INTO states VALUES(1,0,6,'after','load','2026-11-23T14:40:08.573+00:00',0.03921568627406368801,'');
INSERT INTO states VALUES(1,0,6,'after','memory_free','2026-11-23T14:40:08.573+00:00',24130207744.0,'');
INSERT INTO states VALUES(1,0,6,'after','gpu_others','2026-11-23T14:40:08.573+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,6,'after','gpu_clock','2026-11-23T14:40:08.573+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,6,'after','low_power','2026-11-23T14:40:08.573+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,6,'after','thermal_pressure','2026-11-23T14:40:08.573+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,6,'after','mains','2026-11-23T14:40:08.573+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,6,'after','battery','2026-11-23T14:40:08.573+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,7,'before','canary','2026-11-23T14:40:09.806+00:00',1237262.0,'');
INSERT INTO states VALUES(1,0,7,'before','load','2026-11-23T14:40:09.806+00:00',0.064516129033583030638,'');
INSERT INTO states VALUES(1,0,7,'before','memory_free','2026-11-23T14:40:09.806+00:00',24108089344.0,'');
INSERT INTO states VALUES(1,0,7,'before','gpu_others','2026-11-23T14:40:09.806+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,7,'before','gpu_clock','2026-11-23T14:40:09.806+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,7,'before','low_power','2026-11-23T14:40:09.806+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,7,'before','thermal_pressure','2026-11-23T14:40:09.806+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,7,'before','mains','2026-11-23T14:40:09.806+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,7,'before','battery','2026-11-23T14:40:09.806+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,7,'after','canary','2026-11-23T14:40:10.062+00:00',960396.0,'');
INSERT INTO states VALUES(1,0,7,'after','load','2026-11-23T14:40:10.062+00:00',6.6613381477509392425e-16,'');
INSERT INTO states VALUES(1,0,7,'after','memory_free','2026-11-23T14:40:10.062+00:00',24108089344.0,'');
INSERT INTO states VALUES(1,0,7,'after','gpu_others','2026-11-23T14:40:10.062+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,7,'after','gpu_clock','2026-11-23T14:40:10.062+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,7,'after','low_power','2026-11-23T14:40:10.062+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,7,'after','thermal_pressure','2026-11-23T14:40:10.062+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,7,'after','mains','2026-11-23T14:40:10.062+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,7,'after','battery','2026-11-23T14:40:10.062+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,8,'before','canary','2026-11-23T14:40:11.254+00:00',1153845.0,'');
INSERT INTO states VALUES(1,0,8,'before','load','2026-11-23T14:40:11.254+00:00',0.033333333334040718409,'');
INSERT INTO states VALUES(1,0,8,'before','memory_free','2026-11-23T14:40:11.254+00:00',24116940800.0,'');
INSERT INTO states VALUES(1,0,8,'before','gpu_others','2026-11-23T14:40:11.254+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,8,'before','gpu_clock','2026-11-23T14:40:11.254+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,8,'before','low_power','2026-11-23T14:40:11.254+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,8,'before','thermal_pressure','2026-11-23T14:40:11.254+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,8,'before','mains','2026-11-23T14:40:11.254+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,8,'before','battery','2026-11-23T14:40:11.254+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,8,'after','canary','2026-11-23T14:40:11.511+00:00',1214340.0,'');
INSERT INTO states VALUES(1,0,8,'after','load','2026-11-23T14:40:11.511+00:00',0.076923076923027161599,'');
INSERT INTO states VALUES(1,0,8,'after','memory_free','2026-11-23T14:40:11.511+00:00',24116940800.0,'');
INSERT INTO states VALUES(1,0,8,'after','gpu_others','2026-11-23T14:40:11.511+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,8,'after','gpu_clock','2026-11-23T14:40:11.511+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,8,'after','low_power','2026-11-23T14:40:11.511+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,8,'after','thermal_pressure','2026-11-23T14:40:11.511+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,8,'after','mains','2026-11-23T14:40:11.511+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,8,'after','battery','2026-11-23T14:40:11.511+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,9,'before','canary','2026-11-23T14:40:12.842+00:00',1279804.0,'');
INSERT INTO states VALUES(1,0,9,'before','load','2026-11-23T14:40:12.842+00:00',0.096774193548316123081,'');
INSERT INTO states VALUES(1,0,9,'before','memory_free','2026-11-23T14:40:12.842+00:00',24117784576.0,'');
INSERT INTO states VALUES(1,0,9,'before','gpu_others','2026-11-23T14:40:12.842+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,9,'before','gpu_clock','2026-11-23T14:40:12.842+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,9,'before','low_power','2026-11-23T14:40:12.842+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,9,'before','thermal_pressure','2026-11-23T14:40:12.842+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,9,'before','mains','2026-11-23T14:40:12.842+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,9,'before','battery','2026-11-23T14:40:12.842+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,9,'after','canary','2026-11-23T14:40:13.105+00:00',1223385.0,'');
INSERT INTO states VALUES(1,0,9,'after','load','2026-11-23T14:40:13.105+00:00',0.16363636363662334427,'');
INSERT INTO states VALUES(1,0,9,'after','memory_free','2026-11-23T14:40:13.105+00:00',24117784576.0,'');
INSERT INTO states VALUES(1,0,9,'after','gpu_others','2026-11-23T14:40:13.105+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,9,'after','gpu_clock','2026-11-23T14:40:13.105+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,9,'after','low_power','2026-11-23T14:40:13.105+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,9,'after','thermal_pressure','2026-11-23T14:40:13.105+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,9,'after','mains','2026-11-23T14:40:13.105+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,9,'after','battery','2026-11-23T14:40:13.105+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,10,'before','canary','2026-11-23T14:40:14.382+00:00',1200196.0,'');
INSERT INTO states VALUES(1,0,10,'before','load','2026-11-23T14:40:14.382+00:00',0.033333333334040718409,'');
INSERT INTO states VALUES(1,0,10,'before','memory_free','2026-11-23T14:40:14.382+00:00',24121774080.0,'');
INSERT INTO states VALUES(1,0,10,'before','gpu_others','2026-11-23T14:40:14.382+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,10,'before','gpu_clock','2026-11-23T14:40:14.382+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,10,'before','low_power','2026-11-23T14:40:14.382+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,10,'before','thermal_pressure','2026-11-23T14:40:14.382+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,10,'before','mains','2026-11-23T14:40:14.382+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,10,'before','battery','2026-11-23T14:40:14.382+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,10,'after','canary','2026-11-23T14:40:14.644+00:00',1174433.0,'');
INSERT INTO states VALUES(1,0,10,'after','load','2026-11-23T14:40:14.644+00:00',0.11111111111105084758,'');
INSERT INTO states VALUES(1,0,10,'after','memory_free','2026-11-23T14:40:14.644+00:00',24121774080.0,'');
INSERT INTO states VALUES(1,0,10,'after','gpu_others','2026-11-23T14:40:14.644+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,10,'after','gpu_clock','2026-11-23T14:40:14.644+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,10,'after','low_power','2026-11-23T14:40:14.644+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,10,'after','thermal_pressure','2026-11-23T14:40:14.644+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,10,'after','mains','2026-11-23T14:40:14.644+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,10,'after','battery','2026-11-23T14:40:14.644+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,11,'before','canary','2026-11-23T14:40:16.111+00:00',1246060.0,'');
INSERT INTO states VALUES(1,0,11,'before','load','2026-11-23T14:40:16.111+00:00',0.093749999998001598555,'');
INSERT INTO states VALUES(1,0,11,'before','memory_free','2026-11-23T14:40:16.111+00:00',24116654080.0,'');
INSERT INTO states VALUES(1,0,11,'before','gpu_others','2026-11-23T14:40:16.111+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,11,'before','gpu_clock','2026-11-23T14:40:16.111+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,11,'before','low_power','2026-11-23T14:40:16.111+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,11,'before','thermal_pressure','2026-11-23T14:40:16.111+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,11,'before','mains','2026-11-23T14:40:16.111+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,11,'before','battery','2026-11-23T14:40:16.111+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,11,'after','canary','2026-11-23T14:40:16.374+00:00',1203527.0,'');
INSERT INTO states VALUES(1,0,11,'after','load','2026-11-23T14:40:16.374+00:00',0.17241379310402435431,'');
INSERT INTO states VALUES(1,0,11,'after','memory_free','2026-11-23T14:40:16.374+00:00',24116654080.0,'');
INSERT INTO states VALUES(1,0,11,'after','gpu_others','2026-11-23T14:40:16.374+00:00',NULL,'Linux does not say whose work a GPU does; a traced capture does, afterwards.');
INSERT INTO states VALUES(1,0,11,'after','gpu_clock','2026-11-23T14:40:16.374+00:00',NULL,'no monitor that tells it can be read here.');
INSERT INTO states VALUES(1,0,11,'after','low_power','2026-11-23T14:40:16.374+00:00',NULL,'this Linux has no platform profile.');
INSERT INTO states VALUES(1,0,11,'after','thermal_pressure','2026-11-23T14:40:16.374+00:00',NULL,'Linux has no thermal pressure.');
INSERT INTO states VALUES(1,0,11,'after','mains','2026-11-23T14:40:16.374+00:00',NULL,'the system tells of no battery.');
INSERT INTO states VALUES(1,0,11,'after','battery','2026-11-23T14:40:16.374+00:00',NULL,'the system tells of no battery.');
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
INSERT INTO judgements VALUES(1,0,'step_p50',0,'ns','lower','ratio',0.029999999999999998889,1,'inconclusive',253192.12499999999999,267941.375,-0.014731452280168491619,-0.12704305082182212882,0.098749237726440897144,NULL,-0.014731452280168491619,-0.12704305082182212882,0.098749237726440897144,182476.49999999999999,435523.0,'',12,NULL,'No night was accepted as what to expect of work that differs from the reference''s: `tracekit baseline accept NIGHT --reason TEXT`.');
INSERT INTO judgements VALUES(1,0,'tokens_per_second',1,'tokens/s','higher','ratio',0.050000000000000002775,0,NULL,3300.2534588565813464,3241.9623092664614887,0.015213706651873418543,-0.096730276703854964348,0.17374553855068536334,NULL,0.015213706651873418543,-0.096730276703854964348,0.17374553855068536334,2204.0689458639240001,4608.3870349314966004,'',12,NULL,'No night was accepted as what to expect of work that differs from the reference''s: `tracekit baseline accept NIGHT --reason TEXT`.');
INSERT INTO judgements VALUES(1,0,'step_p99',2,'ns','lower','ratio',0.029999999999999998889,0,NULL,428449.2399999999907,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,428449.2399999999907,428449.2399999999907,'',1,NULL,'The reference did not say its step_p99, or not as a number.');
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
CREATE TABLE pins (
	number INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	pinned BOOLEAN NOT NULL, 
	at TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (number)
);
CREATE TABLE missed_nights (
	number INTEGER NOT NULL, 
	"plan" TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	due TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE ("plan", machine, due)
);
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
