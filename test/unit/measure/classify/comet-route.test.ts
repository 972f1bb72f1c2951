import { expect, it } from 'vitest';
import { CometRoutes } from '../../../../src/measure/classify/comet-classifier.ts';

const routes = new CometRoutes(['plant', 'plant/north', 'Čistička'], 'api/cometd', 'j_security_check');

const cases: [string, string, string | undefined][] = [
  ['POST', '/plant/api/cometd', 'plant comet'],
  ['POST', '/plant/api/cometd/connect', 'plant comet'],
  ['GET', '/plant/api/cometd?jsonp=cb&message=[]', 'plant comet'],
  ['POST', '/plant//api/./%63ometd/handshake', 'plant comet'],
  ['POST', '/plant/api/cometd;jsessionid=1/connect', 'plant comet'],
  ['POST', '/plant/north/api/cometd', 'plant/north comet'],
  ['POST', '/%C4%8Cisti%C4%8Dka/api/cometd', 'Čistička comet'],
  ['POST', '/plant/api/cometd2', undefined],
  ['POST', '/api/cometd', undefined],
  ['OPTIONS', '*', undefined],
  ['POST', '/plant/j_security_check', 'plant login'],
  ['POST', '/plant/pages/deep/j_security_check;jsessionid=7', 'plant login'],
  ['GET', '/plant/j_security_check', undefined],
  ['POST', '/plant/my_j_security_check', undefined],
  ['POST', '/other/j_security_check', undefined],
];
it.each(cases)('the Comet routes map %s %s to %s', (method, target, expected) => {
  const route = routes.find(method, target);
  expect(route && `${route.application} ${route.kind}`).toBe(expected);
});

it('a context with an escaped slash wins over the shorter one that its text begins with', () => {
  const routes = new CometRoutes(['a', 'a%2Fb'], 'api/cometd', 'j_security_check');
  expect(routes.find('POST', '/a%2Fb/api/cometd')).toEqual({ application: 'a%2Fb', kind: 'comet' });
});

it('the Comet routes work in the root context', () => {
  const root = new CometRoutes([''], 'api/cometd', 'auth/login');
  expect(root.find('POST', '/api/cometd/connect')).toEqual({ application: '', kind: 'comet' });
  expect(root.find('POST', '/x/auth/login')).toEqual({ application: '', kind: 'login' });
});
