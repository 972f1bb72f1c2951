import { expect, it } from 'vitest';
import { linkTo } from '../../../src/export/alerts/message.ts';
import { parseRoute } from '../../../src/page/route.ts';

it.each([
  ['smartWeb', 'rpc', 'E.Boiler.Start', 'E.Boiler.Start'],
  ['', 'sba', 'a/b?c#d e%', 'a/b?c#d e%'],
  ['smartWeb', 'rpc', 'E.Boiler.*', undefined],
  ['smartWeb', null, null, undefined],
])('the link of a message in /%s about %s %s opens that view', (application, kind, name, item) => {
  const url = linkTo('http://host:9280/', { application, kind, name, subject: 'server', code: 'calls-late', text: '' });
  const route = parseRoute(new URL(url).hash);
  expect(route).toMatchObject({ application, table: item === undefined ? 'rpc' : kind, item });
});
