import { expect, it } from 'vitest';
import { deniedToUser } from '../../../../src/jvm/hsperfdata/refusals.ts';

it('a JVM of another user is reported with the user to run as; 65534 may be anybody in a user namespace', () => {
  const messageFor = (uid: number) =>
    deniedToUser('The JVM with pid 7', uid, { uid: 998, gid: 998, effectiveCapabilities: 0n }).message;
  expect(messageFor(110)).toContain('runs as user id 110, this sidecar as 998');
  expect(messageFor(110)).not.toContain('PrivateUsers');
  expect(messageFor(65_534)).toContain('unit has "PrivateUsers=yes", 65534 stands for any other user');
  expect(messageFor(65_534)).toContain('"User=tomcat"');
});
