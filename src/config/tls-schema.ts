/** The keys below `listen.tls`, `monitor.tls` and `upstream.tls`. */
import { z } from 'zod';
import * as defaults from './defaults.ts';
import { keyForms, oneOf, section, yesOrNo } from './schema-keys.ts';

const PATH_FORM = 'the path of a file';
const NAME_FORM = 'a host name';

/** Accepts a path only: private key text in its place is refused, and not shown. */
function pemFile(description: string) {
  return z
    .string({ error: PATH_FORM })
    .min(1, { error: PATH_FORM })
    .regex(/^(?!.*-----BEGIN)[^\n]*$/, { error: PATH_FORM })
    .optional()
    .describe(description)
    .register(keyForms, { form: 'text' });
}

/** `listener` is its name in sentences, e.g. `the monitoring port`. */
export function listenerTls(listener: string) {
  return section(
    {
      certFile: pemFile(
        'PEM file with the certificate, and behind it those that lead to its authority. With it, TLS is on.',
      ),
      keyFile: pemFile('PEM file with the private key of the certificate, without a passphrase.'),
      clientCaFile: pemFile('PEM file with the authorities that sign the certificates of clients.'),
      clientAuth: oneOf(
        ['none', 'request', 'require'],
        defaults.DEFAULT_CLIENT_AUTH,
        'Whether clients are asked for a certificate: none, request, or require, which refuses those without.',
      ),
    },
    `TLS on ${listener}. Without certFile it is plain HTTP. Changed files are used within seconds.`,
  );
}

export const upstreamTls = section(
  {
    caFile: pemFile('PEM file with the authorities that sign the certificate there. Absent: those that Node.js knows.'),
    serverName: z
      .string({ error: NAME_FORM })
      .regex(/^[A-Za-z0-9._-]+$/, { error: NAME_FORM })
      .optional()
      .describe('The name that the certificate there must hold, if it is not that of upstream.url.')
      .register(keyForms, { form: 'text' }),
    verify: yesOrNo(
      defaults.DEFAULT_VERIFY_UPSTREAM,
      'Whether the certificate there is verified. Without that, anybody in between can read and change everything.',
    ),
    certFile: pemFile('PEM file with a certificate of the sidecar, for an application server that asks for one.'),
    keyFile: pemFile('PEM file with the private key of that certificate, without a passphrase.'),
  },
  'TLS to the application server, where upstream.url is https://.',
);
