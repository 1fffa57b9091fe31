"""Makes plimsoll.json: pip install grafana-foundation-sdk; python dashboard.py > plimsoll.json

A row of PANELS is a panel: its title, what it asks, the unit, the legend, and what it means.
"""

from grafana_foundation_sdk.builders import common, dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableRefresh, VariableSort

HERE = '{instance=~"$instance"}'

PANELS = [
    ("Memory against its lines", [
        ("Free above each mark, by node", f"plimsoll_node_distance_bytes{HERE}", "bytes",
         "{{instance}} node {{node}} {{line}}", "Below low kswapd reclaims, below min tasks do."),
        ("MemAvailable lasts", f"plimsoll_available_line_seconds{HERE}", "s",
         "{{instance}}", "At the rate between two readings; no line while it grows."),
        ("Free above low, by zone", 'plimsoll_zone_distance_bytes{instance=~"$instance",line="low"}',
         "bytes", "{{instance}} {{zone}} of {{node}}", "Without what a zone keeps back."),
        ("Watermark boost", f"sum by (instance, node) (plimsoll_zone_boost_bytes{HERE})", "bytes",
         "{{instance}} node {{node}}", "By how much marks are raised for now."),
    ]),
    ("Dirty pages", [
        ("Left up to each limit", f"plimsoll_dirty_distance_bytes{HERE}", "bytes",
         "{{instance}} {{line}}", "Below zero at throttled, each write waits."),
        ("Used of the limit", '1 - plimsoll_dirty_distance_bytes{instance=~"$instance",line="limit"}'
         " / plimsoll_dirty_limit_bytes", "percentunit", "{{instance}}", "At 1 all writers stand."),
    ]),
    ("Who pays", [
        ("Evicted and needed again", "topk(10, sum without (type) "
         f"(rate(plimsoll_group_refaulted_bytes_total{HERE}[5m])))", "Bps",
         "{{instance}} {{group}}", "The ten groups with most refaults."),
        ("Waiting for memory", 'topk(10, rate(plimsoll_group_memory_pressure_seconds_total'
         '{instance=~"$instance",tasks="some"}[5m]))', "percentunit",
         "{{instance}} {{group}}", "The share of time in which some task of a group waits."),
        ("Memory of the largest groups", f"topk(10, plimsoll_group_memory_bytes{HERE})", "bytes",
         "{{instance}} {{group}}", "A group holds what those below it hold."),
        ("Age of the generations", f"plimsoll_lru_gen_age_seconds{HERE}", "s",
         "{{instance}} node {{node}} {{generation}}", "What reclaim takes was not used for this long."),
    ]),
    ("Settings", [
        ("Lint findings", f"plimsoll_lint_findings{HERE}", "short",
         "{{instance}} {{severity}}", "plimsoll lint says which."),
        ("Drift from what was applied", f"plimsoll_applied_drifted{HERE}", "short",
         "{{instance}} {{tunable}}", "1 where a value is another one by now."),
        ("The guard", f"plimsoll_guard_up{HERE}", "short",
         "{{instance}}", "0 where it is configured and does not run."),
    ]),
]


def panel(title, expr, unit, legend, about):
    query = prometheus.Dataquery().expr(expr).legend_format(legend).ref_id("A")
    built = timeseries.Panel().title(title).description(about).unit(unit).with_target(query)
    legend = common.VizLegendOptions().show_legend(True).placement("bottom")
    return built.datasource(source()).legend(legend).span(12).height(8)


def source():
    return DataSourceRef(type_val="prometheus", uid="${source}")


def made():
    instances = dashboard.QueryVariable("instance").label("Machine").datasource(source())
    instances = instances.query("label_values(plimsoll_lint_findings, instance)")
    instances = instances.multi(True).include_all(True).all_value(".*")
    instances = instances.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    instances = instances.sort(VariableSort.ALPHABETICAL_ASC)
    sources = dashboard.DatasourceVariable("source").label("Prometheus").type("prometheus")
    board = dashboard.Dashboard("Plimsoll: memory against its lines").uid("plimsoll")
    board = board.tags(["memory", "plimsoll"]).refresh("1m").time("now-3h", "now")
    board = board.readonly().timezone("browser").with_variable(sources).with_variable(instances)
    for row, panels in PANELS:
        board = board.with_row(dashboard.Row(row))
        for one in panels:
            board = board.with_panel(panel(*one))
    return board.build()


if __name__ == "__main__":
    print(JSONEncoder(sort_keys=True, indent=2).encode(made()))
