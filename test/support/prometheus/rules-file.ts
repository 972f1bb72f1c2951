/** `config/prometheus/rules.yml` as data, and promtool run on it. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';

export const RULES_PATH = fileURLToPath(new URL('../../../config/prometheus/rules.yml', import.meta.url));

/** The rules for native histograms. */
export const NATIVE_RULES_PATH = RULES_PATH.replace('.yml', '-native.yml');

export const FLEET_RULES_PATH = fileURLToPath(new URL('../../../config/prometheus/fleet.yml', import.meta.url));
export const NATIVE_FLEET_RULES_PATH = FLEET_RULES_PATH.replace('.yml', '-native.yml');

export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface RuleGroup {
  readonly name: string;
  readonly interval?: string;
  readonly rules: readonly Rule[];
}

export function readRuleGroups(file = RULES_PATH): readonly RuleGroup[] {
  return (parse(readFileSync(file, 'utf8')) as { groups: RuleGroup[] }).groups;
}

/** The rules of all files as one file in `folder`, evaluated every second. Returns its path. */
export function writeQuickRules(folder: string, ...files: readonly string[]): string {
  const groups = files.flatMap((file) => readRuleGroups(file)).map((group) => ({ ...group, interval: '1s' }));
  const written = path.join(folder, 'quick-rules.yml');
  writeFileSync(written, stringify({ groups }));
  return written;
}

export function readRules(): readonly Rule[] {
  return readRuleGroups().flatMap(({ rules }) => rules);
}

export type Alert = Rule & { readonly alert: string };

export function readAlerts(): readonly Alert[] {
  return readRules().flatMap((rule) => (rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }]));
}

export function promtool(...args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}
