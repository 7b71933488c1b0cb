import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export function hasRedisServer() {
  return spawnSync('redis-server', ['--version']).status === 0;
}

/**
 * Programs that end together: when one of them ends by itself, `onFailure` is called.
 *
 * @param {(message: string) => void} onFailure
 */
export function createProcesses(onFailure) {
  const running = [];
  let ending = false;

  return {
    start(name, program, args, { env = {}, stdout = 'ignore', cwd = undefined } = {}) {
      const child = spawn(program, args, {
        cwd,
        env: { ...process.env, ...env },
        stdio: ['ignore', stdout, 'pipe'],
        // Only this process handles Ctrl+C: it ends them in the right order.
        detached: true,
      });
      let said = '';
      child.stderr.on('data', (chunk) => {
        said = (said + chunk).slice(-2_000);
      });
      const entry = { child, ended: false };
      child.on('error', (error) => onEnd(error.message));
      child.on('exit', (code, signal) => onEnd(`it ended with ${signal ?? code}`));
      function onEnd(reason) {
        if (entry.ended) return;
        entry.ended = true;
        if (!ending) onFailure(`${name}: ${reason}\n${said}`);
      }
      running.push(entry);
      return child;
    },
    /** Ends them, the last that was started first, and waits for each: workers finish what they run. */
    async end() {
      ending = true;
      for (const entry of running.reverse()) {
        if (entry.ended) continue;
        const gone = once(entry.child, 'exit');
        entry.child.kill('SIGTERM');
        const patience = setTimeout(() => entry.child.kill('SIGKILL'), 8_000);
        await gone;
        clearTimeout(patience);
        endGroup(entry.child.pid);
      }
    },
  };
}

/** What a program has started, such as the pool of a worker that was still starting, would keep its pipes open. */
function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing is left.
  }
}

/** A port of this machine that nothing listens on. */
export async function findPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Resolves when something accepts connections there; rejects after this many seconds. */
export async function waitForPort(port, seconds = 10) {
  for (let attempt = 0; attempt < seconds * 10; attempt += 1) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await sleep(100);
    } finally {
      socket.destroy();
    }
  }
  throw new Error(`Nothing answers on port ${port}.`);
}
