import { expect, it } from 'vitest';
import { decodeCounters, parseJavaCommand } from '../../../../src/jvm/hsperfdata/counters.ts';
import { parseLayout } from '../../../../src/jvm/hsperfdata/entries.ts';
import {
  countersOf,
  entryOf,
  printedCounters,
  SAMPLES,
  sampleBytes,
  withEntry,
  withNumber,
  withText,
} from '../../../support/jvm/hsperfdata/samples.ts';

const bytes = sampleBytes('jdk17-g1');

/** A copy with another byte at `offset`. */
function withByte(offset: number, value: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(value, offset);
  return copy;
}

it.each(SAMPLES)('%s has every counter that jcmd printed, with the same value', (sample) => {
  const file = sampleBytes(sample);
  const layout = parseLayout(file);
  if (layout.kind !== 'layout') throw new Error(layout.kind);
  const textOf = ({ type, dataOffset, dataBytes }: (typeof layout.entries)[number]) =>
    type === 'J'
      ? String(file.readBigInt64LE(dataOffset))
      : `"${file.toString('latin1', dataOffset, dataOffset + dataBytes).replace(/\0.*/s, '')}"`;
  const all = new Map(layout.entries.map((entry) => [entry.name, textOf(entry)]));
  const { numbers, texts } = countersOf(file);
  const wanted = [
    ...[...numbers].map(([name, value]) => [name, String(value)]),
    ...[...texts].map(([name, value]) => [name, `"${value}"`]),
  ];
  const printed = new Map(printedCounters(sample));
  // It moves every 50 ms; jcmd read it after the copy was made. JDK 25 has none.
  const ticks = all.get('sun.os.hrt.ticks');
  if (ticks !== undefined) printed.set('sun.os.hrt.ticks', ticks);
  expect(all).toEqual(new Map([...printed].filter(([name]) => !name.startsWith('sun.perfdata.'))));
  expect(numbers.size).toBeGreaterThan(20);
  expect(wanted.filter(([name = '', value]) => printed.get(name) !== value)).toEqual([]);
});

it('reads the JDK if two counters have the same, the start time and the started class', () => {
  const command = { kind: 'other', name: 'Probe' };
  expect(countersOf(bytes)).toMatchObject({ jdkMajor: 17, startedEpochMs: 1795227162413, command });
  expect(countersOf(sampleBytes('jdk25-z'))).toMatchObject({ jdkMajor: 25 });
  const changed = withText(bytes, 'java.property.java.vm.specification.version', '27');
  expect(countersOf(changed).jdkMajor).toBeUndefined();
});

it('never exposes a password of an option, an argument or a property', () => {
  let planted = withText(bytes, 'java.rt.vmArgs', '-Dpassword=hunter2');
  planted = withEntry(planted, 'java.property.java.vm.password', 'hunter2');
  planted = withEntry(planted, 'java.rt.vmFlags.more', 'hunter2');
  planted = withEntry(planted, 'sun.gc.collector.7.password', 'hunter2');
  // The name of the command's own counter, changed so that a second one can be planted with a longer text.
  planted.write('X', entryOf(bytes, 'sun.rt.javaCommand').dataOffset - 2, 'latin1');
  planted = withEntry(planted, 'sun.rt.javaCommand', 'com.example.Main --password hunter2 -Dpassword=hunter2');
  const counters = countersOf(planted);
  expect(counters.command).toEqual({ kind: 'other', name: 'com.example.Main' });
  const everything = JSON.stringify({ ...counters, numbers: [...counters.numbers.keys()], texts: [...counters.texts] });
  expect(everything).not.toContain('hunter2');
});

it('reports a file that is not accessible yet as a starting JVM, reads one that some counters did not fit into, and judges no number', () => {
  expect(decodeCounters(withByte(7, 0))).toEqual({ kind: 'starting' });
  const overflown = Buffer.from(bytes);
  overflown.writeInt32LE(4328, 12);
  expect(countersOf(overflown)).toEqual(countersOf(bytes));
  expect(countersOf(withNumber(bytes, 'sun.gc.metaspace.used', -1n)).numbers.get('sun.gc.metaspace.used')).toBe(-1n);
});

it('a file is refused that was cut anywhere in its header or counters', () => {
  const used = bytes.readInt32LE(8);
  for (let length = 0; length < used; length += 1)
    expect(decodeCounters(bytes.subarray(0, length)).kind, `${length}`).toBe('invalid');
  expect(countersOf(bytes.subarray(0, used))).toEqual(countersOf(bytes));
});

/** The head of this counter is 48 bytes before its value. */
const HEAD = entryOf(bytes, 'sun.gc.metaspace.used').dataOffset - 48;
const DIGIT = bytes.indexOf('1.time\0', bytes.indexOf('sun.gc.collector.1.time\0', 0, 'latin1'), 'latin1');

it.each([
  ['a negative overflow', withByte(15, 0x80), expect.any(String)],
  ['a counter twice', withByte(DIGIT, 0x30), 'it has the counter sun.gc.collector.0.time twice'],
  ['a counter of another unit', withByte(HEAD + 14, 3), 'its counter sun.gc.metaspace.used is of another kind'],
])('a file is refused with %s', (_, damaged, reason) => {
  expect(decodeCounters(damaged)).toEqual({ kind: 'invalid', reason });
});

const TOMCAT = 'org.apache.catalina.startup.Bootstrap';
const WILDFLY = '/opt/wildfly/jboss-modules.jar -mp /opt/wildfly/modules org.jboss.as';
it.each([
  [`${TOMCAT} start`, 'application-server', TOMCAT],
  [`${TOMCAT} -config /etc/x.xml start`, 'application-server', TOMCAT],
  [`${TOMCAT} stop`, 'tool', TOMCAT],
  [`${WILDFLY}.standalone`, 'application-server', 'jboss-modules.jar'],
  [`${WILDFLY}.cli --connect`, 'tool', 'jboss-modules.jar'],
  ['jdk.jcmd/sun.tools.jcmd.JCmd 12 help', 'tool', 'sun.tools.jcmd.JCmd'],
  [`com.example.Main ${TOMCAT} start`, 'other', 'com.example.Main'],
  ['', 'other', 'unnamed'],
  [`/opt/<b>a"b\u0001${'x'.repeat(200)}.jar secret`, 'other', expect.stringMatching(/^[\w.$-]{1,80}$/)],
])('the command `%s` is of the kind %s, and its name short and harmless', (text, kind, name) => {
  expect(parseJavaCommand(text)).toEqual({ kind, name });
});
