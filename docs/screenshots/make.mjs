// Screenshots of the page over the example's shop: `npm run screenshots`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { executablePath } from '../../test/helpers/chromium.ts';

const PORT = 3199;
const base = `http://127.0.0.1:${PORT}/monitor/`;
const folder = fileURLToPath(new URL('.', import.meta.url));
const example = fileURLToPath(new URL('../../examples/memory/server.mjs', import.meta.url));

const shop = spawn(process.execPath, [example], {
  env: { ...process.env, PORT: String(PORT) },
  stdio: 'ignore',
});
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });

async function newest(query) {
  const response = await fetch(`${base}api/tasks/?limit=1&${query}`);
  return (await response.json()).tasks[0].task_id;
}

try {
  for (let tries = 0; ; tries += 1) {
    const isUp = await fetch(`${base}healthcheck`).then(
      () => true,
      () => false,
    );
    if (isUp) break;
    if (tries > 100) throw new Error('The example does not start. npm run build');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const views = [
    ['overview', '#/'],
    ['failures', '#/failures'],
    ['tasks', '#/tasks'],
    ['task', `#/tasks/${await newest('state=FAILURE&name=payments.charge')}`],
    ['workflow', `#/workflow/${await newest('name=orders.complete&state=SUCCESS')}`],
    ['workers', '#/workers'],
    ['schedules', '#/schedules'],
    ['system', '#/system'],
  ];
  const sizes = [
    ['', { width: 1280, height: 800 }],
    ['-phone', { width: 390, height: 844 }],
  ];
  for (const [ending, viewport] of sizes) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await browser.newPage({ viewport, colorScheme, timezoneId: 'Europe/Berlin' });
      for (const [name, hash] of views) {
        if (ending !== '' && (colorScheme === 'dark' || !['overview', 'tasks', 'task'].includes(name)))
          continue;
        await page.goto(base + hash);
        await page.locator('#view-title').waitFor();
        await page.waitForTimeout(1_200);
        await page.screenshot({ path: `${folder}${name}${ending}-${colorScheme}.png` });
      }
      await page.close();
    }
  }
} finally {
  await browser.close();
  shop.kill();
  await once(shop, 'exit');
}
