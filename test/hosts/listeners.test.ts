import { checkHost } from './check-host.ts';

checkHost({ heading: "Node's http", packages: {}, start: ['server.mjs'] });
checkHost({ heading: 'connect', packages: { connect: '3.7.0' }, start: ['server.mjs'] });
checkHost(
  {
    heading: "Vite's development server",
    packages: { vite: '8.3.8' },
    start: ['node_modules/vite/bin/vite.js', '--host', '127.0.0.1'],
  },
  { dropsStreams: true },
);
checkHost({ heading: 'Fastify', packages: { fastify: '5.12.8' }, start: ['server.mjs'] });
checkHost({ heading: 'Koa', packages: { koa: '3.3.0' }, start: ['server.mjs'] });
checkHost({
  heading: 'koa-mount',
  packages: { koa: '3.3.0', 'koa-mount': '4.2.0' },
  start: ['server.mjs'],
});
checkHost({
  heading: 'Hono on Node',
  packages: { hono: '4.13.19', '@hono/node-server': '2.1.9' },
  start: ['server.mjs'],
});
