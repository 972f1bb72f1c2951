import { expect, it } from 'vitest';
import { reload } from '../../../../src/cli/ask-sidecar.ts';
import type { ReloadAnswer } from '../../../../src/cli/control/protocol.ts';
import { ControlStand, NotingTarget, Printed } from '../../../support/cli/control/stand.ts';

const stand = new ControlStand();

it.each<[ReloadAnswer, code: number, stdout: string, stderr: string]>([
  [
    { kind: 'applied', changed: ['rest.rules', 'log.level'], waiting: ['listen.port'] },
    0,
    'd2-sidecar 4711 reloaded its configuration, changed: rest.rules, log.level\nneeds a restart: listen.port\n',
    '',
  ],
  [
    { kind: 'refused', code: 'D2S_ERR_CONFIG', problems: ['a: wrong', 'b: wrong, too'] },
    64,
    '',
    'd2-sidecar: a: wrong\nd2-sidecar: b: wrong, too\nd2-sidecar: 4711 keeps its configuration\n',
  ],
])('the answer %j to a reload ends the command with %i', async (answer, code, stdout, stderr) => {
  const { path } = await stand.open('4711.sock', Object.assign(new NotingTarget(), { reloadAnswer: answer }));
  const output = new Printed();
  expect(await reload({ flags: { control: path } }, {}, output)).toBe(code);
  expect(output).toMatchObject({ stdout, stderr });
});
