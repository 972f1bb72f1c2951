import { expect, it } from 'vitest';
import { AddressRanges } from '../../../../src/base/address.ts';
import { createClientFinder, createProxyHint } from '../../../../src/proxy/exchange/client-finder.ts';
import { Exchange } from '../../../../src/proxy/exchange/exchange.ts';
import { ExchangeReporter } from '../../../../src/proxy/exchange/exchange-reporter.ts';
import { recordingLogger } from '../../../support/wire/recording-logger.ts';

const MINUTE_NS = 60e9;

class Site {
  readonly #recording = recordingLogger();
  readonly #hint = createProxyHint(this.#recording.logger);

  get warnings(): readonly unknown[] {
    return this.#recording.logged;
  }

  request(minute: number, remoteAddress = '10.0.0.2', isForwarded = true): boolean {
    const field = () => (isForwarded ? '203.0.113.7' : undefined);
    const head = { method: 'GET', target: '/', field, fields: () => [] };
    const client = { remoteAddress, remotePort: 1, secure: false };
    return this.#hint(new Exchange('GET', client, minute * MINUTE_NS), head);
  }
}

it.each([
  ['another address', '10.0.0.3', true],
  ['a request without the field', '10.0.0.2', false],
])('a proxy that is not listed begins its hour again after %s', (_, address, isForwarded) => {
  const site = new Site();
  site.request(0);
  site.request(30, address, isForwarded);
  for (let minute = 31; minute < 91; minute += 1) site.request(minute);
  expect(site.warnings).toEqual([]);
  site.request(91);
  expect(site.warnings).toHaveLength(1);
});

it('a proxy that is not listed is no longer looked for after 100 beginnings', () => {
  const site = new Site();
  const answers = Array.from({ length: 100 }, (_, count) => site.request(count, `10.0.0.${count}`));
  expect(answers.lastIndexOf(true)).toBe(98);
});

it('a proxy whose hour ends after a reload that lists it is not named', () => {
  const { logger, logged } = recordingLogger();
  let nowNs = 0;
  const clock = { nowNs: () => nowNs, epochMs: () => 0 };
  const observer = { onBegin: () => undefined, onEnd: () => undefined };
  const reporter = new ExchangeReporter(clock, observer, logger, { hint: createProxyHint(logger) });
  const request = { method: 'GET', target: '/', field: () => '203.0.113.7', fields: () => [] };
  const begin = () => reporter.begin(request, { remoteAddress: '10.0.0.2', remotePort: 1, secure: false });
  begin();
  const clientFinder = createClientFinder('x-forwarded-for', new AddressRanges(['10.0.0.2']));
  reporter.reconfigure({ maxInFlight: 0, denial: undefined, clientFinder });
  nowNs = 60 * MINUTE_NS;
  begin();
  expect(logged).toEqual([]);
});
