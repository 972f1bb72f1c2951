/** A client of Prometheus' query API, which other stores have, too: https://prometheus.io/docs/prometheus/latest/querying/api/. */
interface EvaluatedRule {
  readonly name: string;
  readonly health: 'ok' | 'err' | 'unknown';
  readonly state?: 'inactive' | 'pending' | 'firing';
}

interface EvaluatedGroup {
  readonly name: string;
  readonly interval: number;
  readonly evaluationTime: number;
  readonly rules: readonly EvaluatedRule[];
}

export class PrometheusApi {
  readonly origin: string;

  constructor(origin: string) {
    this.origin = origin;
  }

  async read<Data>(target: string): Promise<Data> {
    const answer = await (await fetch(`${this.origin}/api/v1/${target}`)).json();
    const { error, data } = answer as { error?: string; data: Data };
    if (error !== undefined) throw new Error(`${target}: ${error}`);
    return data;
  }

  async query(promql: string) {
    type Series = { readonly metric: Record<string, string>; readonly value: readonly [number, string] };
    const { result } = await this.read<{ result: Series[] }>(`query?query=${encodeURIComponent(promql)}`);
    return result.map(({ metric: labels, value: [, value] }) => ({ labels, value: Number(value) }));
  }

  /** NaN unless there is exactly one. */
  async value(promql: string): Promise<number> {
    const [first, ...others] = await this.query(promql);
    return first === undefined || others.length > 0 ? Number.NaN : first.value;
  }

  /** Those queries that return no number. */
  async withoutData(queries: readonly string[]): Promise<string[]> {
    const answers = await Promise.all(queries.map((promql) => this.query(promql)));
    return queries.filter((_, at) => !answers[at]?.some(({ value }) => Number.isFinite(value)));
  }

  /** The trace ids of the exemplars that it has stored. */
  async traceIds(promql: string): Promise<readonly string[]> {
    const series = await this.read<readonly { exemplars: readonly { labels: Record<string, string> }[] }[]>(
      `query_exemplars?query=${encodeURIComponent(promql)}`,
    );
    return series.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id ?? ''));
  }

  /** All values of a label, e.g. `job`, among the series of `match`. */
  labelValues(label: string, match: string): Promise<readonly string[]> {
    return this.read(`label/${label}/values?match[]=${encodeURIComponent(match)}`);
  }

  async ruleGroups(): Promise<readonly EvaluatedGroup[]> {
    return (await this.read<{ groups: readonly EvaluatedGroup[] }>('rules')).groups;
  }

  async rules(): Promise<readonly EvaluatedRule[]> {
    return (await this.ruleGroups()).flatMap(({ rules }) => rules);
  }

  /** Rules whose evaluation failed, or has not taken place yet. */
  async unwellRules(): Promise<readonly EvaluatedRule[]> {
    return (await this.rules()).filter(({ health }) => health !== 'ok');
  }

  async typeOf(family: string): Promise<string | undefined> {
    const families = await this.read<Record<string, readonly { type: string }[]>>(`metadata?metric=${family}`);
    return families[family]?.[0]?.type;
  }

  async lastError(): Promise<string> {
    const { activeTargets } = await this.read<{ activeTargets: readonly { lastError: string }[] }>('targets');
    return activeTargets[0]?.lastError ?? 'no target';
  }
}
