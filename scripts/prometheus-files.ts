/** Rules for native histograms, and copies of rules and dashboards for Kubernetes. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Generated } from './generated.ts';
import { FAMILIES } from './metric-files.ts';

/** Rules for classic histograms, the file of the same for native ones, and where Kubernetes has both. */
const RULES = [
  [
    ...(['config/prometheus/rules.yml', 'config/prometheus/rules-native.yml'] as const),
    { folder: 'prometheus-rule', name: 'd2-sidecar', inChart: true },
  ],
  [
    ...(['config/prometheus/fleet.yml', 'config/prometheus/fleet-native.yml'] as const),
    { folder: 'fleet', name: 'd2-sidecar-fleet', inChart: false },
  ],
] as const;

/** A dashboard, and its copies. */
const DASHBOARDS = [
  [
    'config/grafana/d2-sidecar.json',
    'config/kubernetes/chart/dashboard.json',
    'config/kubernetes/dashboard/d2-sidecar.json',
  ],
  ['config/grafana/fleet.json', 'config/kubernetes/fleet/dashboard.json'],
] as const;

const HISTOGRAMS = FAMILIES.filter(({ type }) => type === 'histogram').map(({ name }) => name);
/** `otlp.metrics.histograms: exponential` leaves the sidecar's own durations as they are (docs/opentelemetry.md). */
const OWN = HISTOGRAMS.filter((name) => name.startsWith('d2_sidecar_'));

/** Helm reads no file outside its chart, and kustomize none outside its component. */
export function ruleFiles(root: string): readonly Generated[] {
  const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
  return RULES.flatMap(([source, nativeSource, { folder, name, inChart }]) => {
    const head = `# Written by \`npm run generate\` from ${source}: the same rules for native histograms.\n`;
    const forms = [
      { suffix: '', text: read(source) },
      { suffix: '-native', text: head + toNativeRules(read(source)) },
    ];
    const copies = forms.flatMap(({ suffix, text }) => [
      { file: `config/kubernetes/${folder}/prometheus-rule${suffix}.yaml`, text: toPrometheusRule(text, source, name) },
      ...(inChart ? [{ file: `config/kubernetes/chart/rules${suffix}.yml`, text }] : []),
    ]);
    return [{ file: nativeSource, text: forms[1]?.text ?? '' }, ...copies];
  });
}

function toPrometheusRule(text: string, source: string, name: string): string {
  return `# Written by \`npm run generate\` from ${source}: change that file.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: ${name}
  labels: { app.kubernetes.io/name: d2-sidecar }
spec:
${text.replace(/^(?=.)/gm, '  ')}`;
}

/**
 * Replaces what reads classic histograms. Sums by `le` stay, as native histograms have no such label, and so do the names of
 * recordings, so that dashboards read both.
 */
export function toNativeRules(rules: string): string {
  const names = HISTOGRAMS.join('|');
  const own = new RegExp(`histogram_quantile\\(([\\d.]+), (rate\\((${OWN.join('|')}))_bucket(\\[\\w+\\]\\))\\)`, 'g');
  const all = new RegExp(`\\b(rate|increase)\\((${names})_(bucket|sum|count)(\\[\\w+\\])\\)`, 'g');
  // In place of the name, so that the second replacement leaves it.
  const kept = '_bucket#';
  const toBoth = (_: string, q: string, begin: string, _name: string, range: string) =>
    `(histogram_quantile(${q}, ${begin}${range}) or histogram_quantile(${q}, ${begin}${kept}${range}))`;
  return rules
    .replace(own, toBoth)
    .replace(all, (_, rate: string, name: string, part: string, range: string) =>
      part === 'bucket' ? `${rate}(${name}${range})` : `histogram_${part}(${rate}(${name}${range}))`,
    )
    .replaceAll(kept, '_bucket');
}

/** Without its indentation, since kubectl writes a second copy of what it applies into an annotation of at most 256 KiB. */
export function dashboardCopies(root: string): readonly Generated[] {
  return DASHBOARDS.flatMap(([source, ...files]) => {
    const text = `${JSON.stringify(JSON.parse(readFileSync(path.join(root, source), 'utf8')))}\n`;
    return files.map((file) => ({ file, text }));
  });
}
