import { describe, expect, it } from 'vitest';
import { runChild } from '../faults/kit/child.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';

/** Requests, and the `http.route` that their spans have. */
const ROUTES: Readonly<Record<string, string>> = {
  '/monitor/healthcheck': '/monitor/healthcheck',
  '/monitor/api/components/': '/monitor/api/components/',
  '/monitor/api/tasks/': '/monitor/api/tasks/',
  '/monitor/api/tasks/mail-1/': '/monitor/api/tasks/:task_id/',
  '/monitor/api/tasks/nobody/': '/monitor/api/tasks/:task_id/',
  '/monitor/api/tasks/mail-1/relations/': '/monitor/api/tasks/:task_id/relations/',
  '/monitor/api/tasks/mail-1/graph/': '/monitor/api/tasks/:task_id/graph/',
  '/monitor/api/tasks/mail-1/graph/updates/': '/monitor/api/tasks/:task_id/graph/updates/',
  '/monitor/api/workers/': '/monitor/api/workers/',
  '/monitor/api/events/latest/': '/monitor/api/events/latest/',
  '/monitor/api/beat/schedules/': '/monitor/api/beat/schedules/',
  '/monitor/metrics': '/monitor/metrics',
  '/monitor/': '/monitor',
};

const FORMS: Readonly<Record<string, string>> = { 'Express 4': 'CommonJS', 'Express 5': 'ES module' };

describe.each(EXPRESS_MAJORS)('on $name, a host that traces itself with OpenTelemetry', (express) => {
  const form = FORMS[express.name] ?? '';

  it(`gets a span with the route for every request, as ${form}`, async () => {
    const paths = JSON.stringify(Object.keys(ROUTES));
    const { code, output } = await runChild('./traced-host.mjs', { express, args: [form, paths] });
    expect({ code, output }).toMatchObject({ code: 0 });
    const expected = Object.entries(ROUTES).map(([path, route]) => [
      path,
      { name: `GET ${route}`, route, handler: route },
    ]);
    expect(JSON.parse(output)).toEqual(Object.fromEntries(expected));
  });
});
