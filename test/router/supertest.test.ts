import request from 'supertest';
import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { checkResponse } from '../helpers/openapi-check.ts';

describe.each(EXPRESS_MAJORS)(
  'a host tested with supertest, on $name',
  ({ express, createMonitorRouter }) => {
    it('needs no server of its own', async () => {
      const queue = memorySources();
      const monitor = createMonitorRouter({ sources: queue, authorize: false });
      const app = express().use('/monitor', monitor);
      queue.record({ id: '1', state: 'STARTED', name: 'mail.send' });

      const response = await request(app).get('/monitor/api/tasks/').expect(200);
      expect(response.body.tasks).toMatchObject([{ task_id: '1', name: 'mail.send', source: 'memory' }]);
      checkResponse('GET', '/api/tasks/', {
        status: response.status,
        headers: response.headers,
        bytes: Buffer.from(response.text),
        text: response.text,
      });
      await request(app)
        .get('/monitor/api/tasks/')
        .set('If-None-Match', response.headers.etag ?? '')
        .expect(304);
      await request(app).post('/monitor/api/tasks/').expect(405);
      await request(app).get('/elsewhere').expect(404);
      await monitor.close();
      await request(app).get('/monitor/api/tasks/').expect(503).expect('Retry-After', '1');
    });
  },
);
