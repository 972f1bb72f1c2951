import { beforeEach, describe, expect, it } from 'vitest';
import { SidecarError } from '../../../../src/base/errors.ts';
import { reload } from '../../../../src/cli/ask-sidecar.ts';
import { requestReload } from '../../../../src/cli/control/control-client.ts';
import { ControlStand, NotingTarget, Printed } from '../../../support/cli/control/stand.ts';

const stand = new ControlStand();
let target: NotingTarget;
beforeEach(() => {
  target = new NotingTarget();
});

async function run(): Promise<{ code: number; stdout: string; stderr: string }> {
  const { path } = await stand.open('4711.sock', target);
  const output = new Printed();
  const code = await reload({ flags: { control: path } }, {}, output);
  return { code, stdout: output.stdout, stderr: output.stderr };
}

describe('reload over the control socket', () => {
  it('reports which keys are in force, and which wait for a restart', async () => {
    target.reloadAnswer = { kind: 'applied', changed: ['rest.rules', 'log.level'], waiting: ['listen.port'] };
    const stdout =
      'd2-sidecar 4711 reloaded its configuration, changed: rest.rules, log.level\nneeds a restart: listen.port\n';
    expect(await run()).toEqual({ code: 0, stderr: '', stdout });
    expect(target.told).toEqual(['reload']);
  });

  it.each([
    ['D2S_ERR_CONFIG', 64],
    [undefined, 1],
  ])('reports what is wrong (%s), with exit code %i', async (code, exitCode) => {
    target.reloadAnswer = { kind: 'refused', code, problems: ['a: wrong', 'b: wrong, too'] };
    const stderr = 'd2-sidecar: a: wrong\nd2-sidecar: b: wrong, too\nd2-sidecar: 4711 keeps its configuration\n';
    expect(await run()).toEqual({ code: exitCode, stdout: '', stderr });
  });

  it('refuses an answer without a reload', async () => {
    const server = await stand.open('a.sock', target);
    target.reloadAnswer = { kind: 'applied', changed: 'rest.rules', waiting: [] } as never;
    await expect(requestReload(server.path)).rejects.toBeInstanceOf(SidecarError);
  });
});
