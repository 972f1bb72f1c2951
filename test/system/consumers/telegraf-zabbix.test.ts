/** The values that Telegraf and Zabbix read from a real sidecar, by the paths of the shipped configurations. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SUBJECTS } from '../../../src/measure/verdict/evidence.ts';
import { VERDICT_CODES } from '../../../src/measure/verdict/rules.ts';
import { PASSWORD, SENT, SHIPPED_ADDRESS, startConsumedSidecar } from '../../support/consumers/consumed-sidecar.ts';
import { byGjson, byJsonPath } from '../../support/consumers/paths.ts';
import { parseTelegrafConfiguration, type Table } from '../../support/consumers/telegraf-configuration.ts';
import { deferTo } from '../../support/deferred.ts';
import { ROOT } from '../../support/docs/documents.ts';
import { basic } from '../../support/monitor/access/access-files.ts';

/** Seconds by which a call may take longer on a busy machine. */
const duration = expect.toSatisfy((value: unknown) => typeof value === 'number' && value > 0 && value < 10);
const slow = expect.toSatisfy((value: unknown) => Number(value) > (SENT.slowMs - 2) / 1_000 && Number(value) < 10);

function shipped(file: string): string {
  return readFileSync(path.join(ROOT, 'config', file), 'utf8');
}

const sidecar = await startConsumedSidecar(deferTo(afterAll));

async function documentAt(url: string, user: string, password: string, headers = {}): Promise<unknown> {
  expect(url).toContain(`http://${SHIPPED_ADDRESS}/`);
  const target = url.replace(SHIPPED_ADDRESS, sidecar.monitor);
  const response = await fetch(target, { headers: { ...headers, authorization: basic(user, password) } });
  expect(response.status).toBe(200);
  return await response.json();
}

/** Fields by name, with the types of the configuration. */
async function gather(input: Table): Promise<Record<string, unknown>> {
  const [url = ''] = input.urls as readonly string[];
  expect(input.data_format).toBe('json_v2');
  const document = await documentAt(url, String(input.username), String(input.password));
  const declared = (input.json_v2 as Table[]).flatMap(({ field }) => field as Table[]);
  const fields = declared.flatMap(({ path: of, rename, type, optional }) => {
    const value = byGjson(document, String(of));
    if (value === undefined && optional === true) return [];
    const isOfType = type === 'int' ? Number.isSafeInteger(value) : type === 'float' && typeof value === 'number';
    expect([of, value, isOfType]).toEqual([of, value, true]);
    return [[String(rename), value] as const];
  });
  return Object.fromEntries(fields);
}

it('Telegraf with inputs.http and json_v2 reads the calls of the clients and the JVM', async () => {
  const { inputs } = parseTelegrafConfiguration(shipped('telegraf/d2-sidecar.conf'));
  const https = (inputs as Table[]).flatMap(({ http }) => http as Table[]);
  expect(https.map(({ json_v2 }) => (json_v2 as Table[])[0]?.measurement_name)).toEqual(['d2', 'd2_jvm']);
  expect(await Promise.all(https.map(gather))).toEqual([
    {
      ...{ rpc_calls: SENT.rpcCalls, rpc_errors: SENT.rpcErrors, sba_calls: SENT.sbaCalls },
      ...{ object_values: SENT.values, object_subscriptions: 0 },
      ...{ sessions_active: SENT.sessions, sessions_created: SENT.sessions },
      ...{ rpc_p50: duration, rpc_p99: slow, test_in_out_p99: duration },
    },
    { heap_used: SENT.heapUsed, heap_max: SENT.heapMax, classes_loaded: SENT.classesLoaded },
  ]);
});

interface Item {
  readonly type: string;
  readonly key: string;
  readonly value_type?: string;
  readonly url?: string;
  readonly username?: string;
  readonly password?: string;
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
  readonly preprocessing?: readonly { readonly type: string; readonly parameters: readonly string[] }[];
  readonly master_item?: { readonly key: string };
  readonly triggers?: readonly { readonly expression: string }[];
}

interface Template {
  readonly items: readonly Item[];
  readonly discovery_rules: readonly (Item & { readonly item_prototypes: readonly Item[] })[];
  readonly macros: readonly { readonly macro: string; readonly value?: string }[];
}

describe('Zabbix, HTTP agent with JSONPath', () => {
  const [template] = (parse(shipped('zabbix/d2-sidecar.yaml')) as { zabbix_export: { templates: readonly [Template] } })
    .zabbix_export.templates;

  /** The user macros of a host, which has to set the password. */
  function expanded(text: string | undefined): string {
    return (text ?? '').replace(/\{\$[\w.]+\}/g, (macro) => {
      const found = template.macros.find((one) => one.macro === macro);
      expect(macro).toBe(found?.macro);
      return macro === '{$D2S.PASSWORD}' ? PASSWORD : (found?.value ?? '');
    });
  }

  const documents = new Map<string, unknown>();
  beforeAll(async () => {
    for (const { type, key, url, username, password, headers = [] } of template.items) {
      const fields = Object.fromEntries(headers.map(({ name, value }) => [name, value]));
      const credentials = [expanded(username), expanded(password)] as const;
      if (type === 'HTTP_AGENT') documents.set(key, await documentAt(expanded(url), ...credentials, fields));
    }
  });

  /** The value that the first step selects from its master's answer. A rate needs a second answer; this is its raw number. */
  function readingOf({ key, value_type = 'UNSIGNED', preprocessing = [], master_item }: Item): unknown {
    const [taken, ...others] = preprocessing;
    expect([key, taken?.type]).toEqual([key, 'JSONPATH']);
    expect(others.filter(({ type }) => type !== 'CHANGE_PER_SECOND')).toEqual([]);
    const value = byJsonPath(documents.get(master_item?.key ?? ''), taken?.parameters[0] ?? '');
    const isUnsigned = Number.isSafeInteger(value) && (value as number) >= 0;
    const isText = value_type === 'TEXT' || value_type === 'CHAR';
    const isOfType = value_type === 'UNSIGNED' ? isUnsigned : typeof value === (isText ? 'string' : 'number');
    expect([key, value, isOfType]).toEqual([key, value, true]);
    return value;
  }

  it('reads the calls of the clients and the JVM', () => {
    const dependent = template.items.filter(({ type, key }) => type === 'DEPENDENT' && !key.startsWith('d2s.verdict'));
    expect(Object.fromEntries(dependent.map((item) => [item.key, readingOf(item)]))).toEqual({
      ...{ 'd2s.rpc.count': SENT.rpcCalls, 'd2s.rpc.rate': SENT.rpcCalls, 'd2s.rpc.errors.rate': SENT.rpcErrors },
      ...{ 'd2s.rpc.p50': duration, 'd2s.rpc.p99': slow, 'd2s.sba.count': SENT.sbaCalls },
      ...{ 'd2s.object.values': SENT.values, 'd2s.object.subscriptions': 0, 'd2s.object.monitored': 0 },
      ...{ 'd2s.sessions.active': SENT.sessions, 'd2s.sessions.created': SENT.sessions },
      ...{ 'd2s.jvm.heap.used': SENT.heapUsed, 'd2s.jvm.heap.max': SENT.heapMax },
      'd2s.jvm.classes.loaded': SENT.classesLoaded,
    });
  });

  it('reads the verdict, and its triggers name items and subjects that there are', () => {
    const ofVerdict = template.items.filter(({ type, key }) => type === 'DEPENDENT' && key.startsWith('d2s.verdict'));
    const { subject, code, text } = documents.get('d2s.verdict') as Record<string, string>;
    expect(Object.fromEntries(ofVerdict.map((item) => [item.key, readingOf(item)]))).toEqual({
      ...{ 'd2s.verdict.text': text, 'd2s.verdict.code': code, 'd2s.verdict.subject': subject },
    });
    const expressions = template.items.flatMap(({ triggers = [] }) => triggers.map(({ expression }) => expression));
    const namesIn = (pattern: RegExp) =>
      new Set(expressions.flatMap((one) => Array.from(one.matchAll(pattern), ([, name = '']) => name)));
    expect(namesIn(/\(\/D2000 by d2-sidecar\/([\w.]+)/g)).toEqual(new Set(ofVerdict.map(({ key }) => key)));
    const blamed = SUBJECTS.filter((one) => one !== 'nobody' && one !== 'unknown');
    expect(namesIn(/"([\w-]+)"/g)).toEqual(new Set([...blamed, 'target-missed', 'draining']));
    expect(VERDICT_CODES).toEqual(expect.arrayContaining(['target-missed', 'draining']));
  });

  it('discovers RPCs, and reads each of them', () => {
    const [rule] = template.discovery_rules;
    const [step] = rule?.preprocessing ?? [];
    expect(step?.type).toBe('JAVASCRIPT');
    // Zabbix runs it as the body of a function with the parameter `value`.
    const script = new Function('value', step?.parameters[0] ?? '') as (value: string) => string;
    const found = script(JSON.stringify(documents.get(rule?.master_item?.key ?? '')));
    const names = (JSON.parse(found) as { '{#RPC}': string }[]).map((one) => one['{#RPC}']);
    expect(names).toEqual(['E.Demo.Fail', 'E.Demo.Slow', 'E.Demo.TestInOut']);
    const readings = names.map((name) => {
      const escaped = JSON.stringify(name.replace(/[\\"]/g, '\\$&')).slice(1, -1);
      const prototypes = JSON.stringify(rule?.item_prototypes).replaceAll('{#RPC}', escaped);
      return (JSON.parse(prototypes) as Item[]).map(readingOf);
    });
    expect(readings).toEqual([
      [1, 1, duration],
      [SENT.slow, 0, slow],
      [SENT.testInOut, 0, duration],
    ]);
  });
});
