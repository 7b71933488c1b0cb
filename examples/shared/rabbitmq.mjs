import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPort, waitForPort } from './processes.mjs';

/** Where Debian puts it. The one on the path is a script that only root and the user rabbitmq may run. */
const SERVER = process.env.RABBITMQ_SERVER_BIN ?? '/usr/lib/rabbitmq/bin/rabbitmq-server';

export const HOW_TO_INSTALL =
  'This example needs RabbitMQ: on Debian apt install rabbitmq-server, or give the address of yours as AMQP_URL.';

export function hasRabbitmq() {
  return existsSync(SERVER);
}

/** Starts a RabbitMQ of its own, whose data is removed at the end. @returns its URL */
export async function startRabbitmq(processes, folder) {
  const home = join(folder, 'rabbitmq');
  mkdirSync(home);
  const ports = { amqp: await findPort(), distribution: await findPort() };
  const epmd = await findPort();
  writeFileSync(join(home, 'plugins'), '[].\n');
  writeFileSync(join(home, 'rabbitmq.conf'), `listeners.tcp.1 = 127.0.0.1:${ports.amqp}\n`);
  const env = {
    HOME: home,
    RABBITMQ_NODENAME: `example${ports.amqp}@localhost`,
    RABBITMQ_MNESIA_BASE: home,
    RABBITMQ_LOG_BASE: home,
    RABBITMQ_ENABLED_PLUGINS_FILE: join(home, 'plugins'),
    RABBITMQ_CONFIG_FILE: join(home, 'rabbitmq.conf'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_PID_FILE: join(home, 'pid'),
    RABBITMQ_DIST_PORT: String(ports.distribution),
    ERL_EPMD_PORT: String(epmd),
    ERL_EPMD_ADDRESS: '127.0.0.1',
  };
  // The register of Erlang's nodes; RabbitMQ would start one that outlives it.
  processes.start('epmd', 'epmd', ['-port', String(epmd), '-address', '127.0.0.1']);
  processes.start('rabbitmq', SERVER, [], { env, cwd: home });
  await waitForPort(ports.amqp, 60);
  return `amqp://guest:guest@127.0.0.1:${ports.amqp}//`;
}
