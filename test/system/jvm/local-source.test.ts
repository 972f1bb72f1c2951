import { expect, it, onTestFinished } from 'vitest';
import { AttachOverlay } from '../../../src/jvm/attach/attach-overlay.ts';
import { HsperfdataSource } from '../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import { LocalSource } from '../../../src/jvm/local-source.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';
import { FakeMachine, fileOf, LOOPBACK_8080, TOMCAT } from './fake-machine.ts';

const NEVER = new AbortController().signal;

it('the local source tells the log and the reader of threads which JVM it asks, though another process has the port', async () => {
  const machine = new FakeMachine();
  onTestFinished(() => machine.remove());
  machine.listen(LOOPBACK_8080, 4711);
  machine.addProcess({ pid: 20, name: 'nginx', sockets: [4711] });
  machine.addProcess({ pid: 812 });
  machine.addFile('tomcat', 812, fileOf(TOMCAT));
  const { procPath, tmpPath } = machine;
  const counters = new HsperfdataSource({ procPath, tmpPath, upstreamHost: '127.0.0.1', upstreamPort: 8080 });
  const { logger, logged } = recordingLogger();
  const source = new LocalSource(counters, new AttachOverlay({ mayOpen: false }), logger);
  const jvm =
    'pid 812 (user tomcat, org.apache.catalina.startup.Bootstrap), the only application server here: ' +
    'pid 20 (nginx), which listens on the upstream’s port 8080, is no JVM';
  for (let times = 0; times < 2; times += 1) await source.read(NEVER);
  expect(logged.filter(({ message }) => message === 'reading this JVM')).toMatchObject([{ details: { jvm } }]);
  await expect(source.dumpThreads(NEVER)).rejects.toMatchObject({
    code: 'D2S_ERR_JVM_UNREACHABLE',
    message: expect.stringMatching(/^The JVM has no attach socket: .* Asked the JVM with pid 812 .*, is no JVM\.$/),
  });
});
