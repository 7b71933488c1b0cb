/**
 * The host of the deployment benchmark: the monitor of a Celery deployment in an Express app, as a host would
 * mount it. `node deployment-server.js BROKER`; sends its port to the parent process.
 */
import type { AddressInfo } from 'node:net';
import express from 'express';
import { celerySources } from '../src/celery.ts';
import { createMonitorRouter } from '../src/index.ts';

const app = express();
const sources = celerySources({ broker: process.argv[2] ?? '', backend: process.argv[2] ?? '' });
app.use('/monitor', createMonitorRouter({ sources, authorize: false }));
const server = app.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
