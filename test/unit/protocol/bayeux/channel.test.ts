import { expect, it } from 'vitest';
import { isMeta, isService } from '../../../../src/protocol/bayeux/channel.ts';

it('the first segment of a channel shows whether it is a meta or a service channel', () => {
  const channels = ['/meta/connect', '/meta/x', '/metal/x', '/a/meta/x', '/service/x'];
  expect(channels.map(isMeta)).toEqual([true, true, false, false, false]);
  expect(['/service/d2/rpc', '/services/x', '/a/service/x'].map(isService)).toEqual([true, false, false]);
});
