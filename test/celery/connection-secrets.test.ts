import { writeFileSync } from 'node:fs';
import { createClient, createSentinel } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySettings, celerySources } from '../../src/celery.ts';
import { checkBroker, componentOf, context } from '../helpers/celery-events.ts';
import { type Certificates, makeCertificates, tlsMissing } from '../helpers/certificates.ts';
import { freePort, until } from '../helpers/redis-server.ts';
import { scriptedRedis } from '../helpers/scripted-redis.ts';
import { expectNoSecret, recordOutput } from './secret-watch.ts';

/** How a server treats whoever comes; the port is its own. */
type Answers = (command: string, port: number) => string | null;

const ECHO = 'AUTH S3CRETuser S3CRETpassword';

const failures: Readonly<Record<string, Answers>> = {
  'says nothing': () => null,
  'refuses the password and repeats it': () => `-WRONGPASS ${ECHO}\r\n`,
  'asks for a password': () => `-NOAUTH ${ECHO}\r\n`,
  'refuses every command': () => "-NOPERM User S3CRETuser has no permissions to run the 'ping' command\r\n",
  'fails in words of its own': () => `-ERR ${ECHO}\r\n`,
  'fails with a word of its own': () => '-S3CRET\r\n',
  'is no Redis': () => `HTTP/1.1 400 ${ECHO}\r\n\r\n`,
  'lets in, then refuses': (command) =>
    /^(AUTH|SELECT|PING|HELLO)$/.test(command) ? '+OK\r\n' : `-NOPERM ${ECHO}\r\n`,
  'names itself the master, then refuses': (command, port) =>
    command === 'SENTINEL'
      ? `*2\r\n$9\r\n127.0.0.1\r\n$${`${port}`.length}\r\n${port}\r\n`
      : `-LOADING ${ECHO}\r\n`,
};

let files: Certificates | null = null;
let keyfile = '';

beforeAll(() => {
  if (tlsMissing !== null) return;
  files = makeCertificates();
  keyfile = `${files.folder}/S3CRET.key`;
  writeFileSync(keyfile, '-----BEGIN PRIVATE KEY-----\nS3CRET\n-----END PRIVATE KEY-----\n');
});

afterAll(() => files?.remove());

/** Forms of a broker that never read what such a server answers, or read it as another form does. */
const UNREAD = ['a URL of TLS', 'a URL of a socket', 'a URL of a Sentinel'];

const login = 'S3CRETuser:S3CRETpassword@';

function forms(port: number): [string, unknown, CelerySettings][] {
  const name = { master_name: 'shop' };
  const kwargs = { sentinel_kwargs: { username: 'S3CRETuser', password: 'S3CRETkwargs' } };
  const sentinel = `sentinel://${login}127.0.0.1:${port}/2`;
  const ssl = files === null ? {} : { ssl_certfile: files.client.cert, ssl_keyfile: keyfile };
  const client = createClient({ url: `redis://${login}127.0.0.1:${port}/2` });
  const sentinels = createSentinel({
    name: 'shop',
    sentinelRootNodes: [{ host: '127.0.0.1', port }],
    nodeClientOptions: { username: 'S3CRETuser', password: 'S3CRETpassword' },
    sentinelClientOptions: { password: 'S3CRETkwargs' },
  });
  for (const host of [client, sentinels]) host.on('error', () => {});
  return [
    ['a URL', `redis://${login}127.0.0.1:${port}/2?S3CRET=S3CRET`, {}],
    [
      'a URL of TLS',
      `rediss://${login}127.0.0.1:${port}/2`,
      { broker_use_ssl: { ...ssl, S3CRET: 'S3CRET' } },
    ],
    ['a URL of a socket', `redis+socket://${login}/no/such/file?virtual_host=2`, {}],
    ['a URL of a Sentinel', sentinel, { broker_transport_options: name }],
    ['a URL of a Sentinel with a password', sentinel, { broker_transport_options: { ...name, ...kwargs } }],
    ["a host's client", client, {}],
    ["a host's client of Sentinels", sentinels, {}],
  ];
}

describe('credentials', () => {
  async function expectKept(broker: unknown, settings: CelerySettings): Promise<void> {
    const sources = celerySources({ broker: broker as string, settings });
    const health = await checkBroker(sources, 400);
    await sources.tasks.getTask('unknown', context);
    const components = await sources.components.listComponents(context);
    expectNoSecret(
      health,
      components,
      sources.tasks.status?.(),
      await sources.health.checkWorkers?.({ ...context, ping: false }),
    );
    await sources.close();
  }

  it.each(Object.entries(failures))(
    'are told to nobody when a server %s',
    async (_, answers) => {
      let port = 0;
      const server = await scriptedRedis((command) => answers(command, port));
      port = Number(new URL(server.url).port);
      const written = recordOutput();
      const reading = forms(port).filter(([form]) => !UNREAD.includes(form));
      await Promise.all(reading.map(([, broker, settings]) => expectKept(broker, settings)));
      await server.close();
      expectNoSecret(written);
    },
    60_000,
  );

  it('are told to nobody when nothing listens, or the host has no such name', async () => {
    const written = recordOutput();
    const port = await freePort();
    await Promise.all(forms(port).map(([, broker, settings]) => expectKept(broker, settings)));
    await expectKept(`redis://${login}no-such-host.invalid/1`, {});
    expect(written.join('\n')).toMatch(/refuses connections/);
    expectNoSecret(written);
  }, 60_000);

  it('are not in what is shown of a broker', async () => {
    for (const [, broker, settings] of forms(1)) {
      const sources = celerySources({ broker: broker as string, settings });
      await until(async () => (await componentOf(sources, 'broker')).status === 'down');
      expectNoSecret(await componentOf(sources, 'broker'), sources);
      await sources.close();
    }
  }, 60_000);
});
