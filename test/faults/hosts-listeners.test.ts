import { faultCase } from './kit/fault-case.ts';

faultCase(66, 'a monitor that is used and closed leaves nothing behind', async ({ serve, expectAnswer }) => {
  const host = await serve({});
  await expectAnswer(host, '/api/tasks/', { status: 501, code: 'source_not_configured', aimMs: 50 });
});
