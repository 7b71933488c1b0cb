import { describe, expect, it, onTestFinished } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import type { EventsBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { nginxMissing, startNginx } from '../helpers/nginx.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { serve, until } from './host-kit.ts';

describe.skipIf(nginxMissing)(titleUnless(nginxMissing, 'behind nginx as it comes'), () => {
  it('messages of a stream come through at once, and answers as they are', async () => {
    const queue = memorySources();
    const { url } = await serve(EXPRESS, { sources: queue });
    const base = `${await startNginx(url)}/monitor`;
    const stream = await askStream<EventsBody>(base, '/api/events/latest/');
    onTestFinished(() => stream.close());
    await until(() => stream.messages.length === 1);
    queue.record({ id: '1', state: 'STARTED' });
    await until(() => stream.messages.length === 2);
    expect((await ask<EventsBody>(base, '/api/events/latest/')).body.events).toEqual(
      stream.messages[1]?.body.events,
    );
    const moved = await ask(base, '/api/workers');
    expect(new URL(moved.headers.location ?? '', `${base}/api/workers`).pathname).toBe(
      '/tools/monitor/api/workers/',
    );
  });
});
