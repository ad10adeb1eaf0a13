"""Charges by Python's decimal arithmetic, straight from the JSON of a price table.

Shares no code with the package, so that both would have to make the same mistake. Reads one JSON
object from standard input: {"models": [...], "server_tool_use": {...}, "cases": [...]}, and writes
the charge of each case on a line.
"""

import json
import sys
from decimal import Decimal, getcontext

getcontext().prec = 100
getcontext().traps[__import__("decimal").Inexact] = True

MILLION = Decimal(1000000)
MODIFIERS = ("speed", "service_tier", "inference_geo")


def charge(model, fees, case):
    usage = case["usage"]
    prompt = usage["input"] + usage["cache_read"] + usage["cache_write"]
    rates = model
    for band in model.get("bands", []):
        if prompt > band["above_prompt_tokens"]:
            rates = band
    factor = Decimal(model.get("factor", "1"))
    for name in MODIFIERS:
        modifier = model.get(name, {}).get(case.get(name))
        if modifier is None:
            continue
        if "factor" in modifier:
            factor *= Decimal(modifier["factor"])
        else:
            rates = modifier

    def cached(name, specified):
        return Decimal(rates.get(name, model.get(name, specified)))

    rate_in = Decimal(rates["rate_in"])
    tokens = (
        usage["input"] * rate_in
        + usage["output"] * Decimal(rates["rate_out"])
        + usage["cache_read"] * rate_in * cached("cache_read", "0.10")
        + (usage["cache_write"] - usage["cache_write_1h"]) * rate_in * cached("cache_write", "1.25")
        + usage["cache_write_1h"] * rate_in * cached("cache_write_1h", "1.25")
    )
    searches = sum(
        count * Decimal(fees.get(what, "0")) for what, count in case["server_tool_use"].items()
    )
    return tokens * factor / MILLION + searches


def main():
    job = json.load(sys.stdin)
    models = {model["id"]: model for model in job["models"]}
    lines = []
    for case in job["cases"]:
        amount = charge(models[case["model"]], job["server_tool_use"], case)
        lines.append(format(amount.quantize(Decimal(1).scaleb(-14)), "f"))
    sys.stdout.write("\n".join(lines))


main()
