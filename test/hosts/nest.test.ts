import { installed } from '../packaging/packed.ts';
import { checkHost } from './check-host.ts';

const nest = {
  project: 'Nest',
  packages: {
    '@nestjs/common': '12.5.1',
    '@nestjs/core': '12.5.1',
    '@nestjs/platform-express': '12.5.1',
    '@nestjs/platform-fastify': '12.5.0',
    'reflect-metadata': '0.2.2',
    rxjs: '7.8.2',
  },
  // Nest's decorators need a compiler.
  start: ['--import', `file://${installed('tsx')}/dist/loader.mjs`, 'main.ts'],
  path: '/api/monitor',
};

checkHost({ heading: 'Nest', ...nest }, { hasGuard: true });
checkHost({ heading: 'Nest on Fastify', others: ['Nest'], ...nest }, { hasGuard: true });
