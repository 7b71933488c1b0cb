import { installed } from '../packaging/packed.ts';
import { checkHost } from './check-host.ts';

const GUARD = `import { Injectable, UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';

const login = \`Basic \${Buffer.from('ops:change-me').toString('base64')}\`;

@Injectable()
export class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext) {
    const { headers } = context.switchToHttp().getRequest();
    if (headers.authorization !== login) throw new UnauthorizedException();
    return true;
  }
}
`;

/** The app around the controller. @param imported what it imports for its adapter */
const appOf = (imported = '', adapter = ''): Record<string, string> => ({
  'admin.guard.ts': GUARD,
  'tsconfig.json': JSON.stringify({
    compilerOptions: { target: 'es2022', module: 'nodenext', experimentalDecorators: true },
  }),
  'main.ts': `import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
${imported}import { MonitorController } from './monitor.controller.js';

@Module({ controllers: [MonitorController] })
class AppModule {}

const app = await NestFactory.create(AppModule${adapter});
app.setGlobalPrefix('api');
app.enableShutdownHooks();
await app.listen(Number(process.env.PORT ?? 3000));
`,
});

const nest = {
  heading: 'Nest',
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

const FASTIFY = "import { FastifyAdapter } from '@nestjs/platform-fastify';\n";

checkHost({ ...nest, app: appOf() }, { hasGuard: true });
checkHost(
  { ...nest, name: 'Nest on Fastify', app: appOf(FASTIFY, ', new FastifyAdapter()') },
  { hasGuard: true },
);
