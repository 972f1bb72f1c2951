import { expect, it } from 'vitest';
import { windows } from '../../../../src/base/platform/platform.ts';

const PIPES = '\\\\.\\pipe\\';

it.each([
  ['C:\\Users\\Čeněk\\AppData\\Local\\Temp\\d2-sidecar-user\\812.sock', `${PIPES}d2-sidecar-812`],
  ['C:/Program Data/d2/line 2.sock', `${PIPES}d2-sidecar-line 2`],
  [`${PIPES}mine`, `${PIPES}mine`],
])('the control socket %s is the pipe %s', (socketPath, pipe) => {
  expect([windows.controlAddressOf(socketPath), windows.isPipe(pipe)]).toEqual([pipe, true]);
});

it('no signal both stops and reloads, and a stop that Windows ends by force is short', () => {
  expect(windows.reloadSignals).toEqual([]);
  expect(Object.keys(windows.stopLimitsMs)).toEqual(['SIGHUP']);
  expect(windows.stopSignals).toContain('SIGHUP');
});
