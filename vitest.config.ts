import { defineConfig } from 'vitest/config'

declare module 'vitest' {
  interface ProvidedContext {
    /** Seed of every fuzz test: fixed here, random in `npm run test:nightly`. */
    fuzzSeed: number
    /** Times that `first-ping.test.ts` repeats each exchange between peers, whose order on the wire is left to chance. */
    replays: number
  }
}

const provide = { fuzzSeed: Number(process.env.MUSTER_FUZZ_SEED ?? 0x5eed), replays: 12 }

// A polled condition may take as long as a busy machine takes; a test that waits in vain ends by its own time.
const expect = { poll: { timeout: 25_000 } }

/**
 * Files for `npm run test:slow`: they hold bounds of time and memory, which mean something only where nothing runs beside them, or
 * need other software or minutes.
 */
const SLOW = '**/*.slow.test.ts'
/** They change the process they run in, which the other files of their project share. */
const ISOLATED = ['apps/hub/src/http/tls.test.ts', 'apps/hub/src/gateway/tls-sessions.test.ts']

const hub = {
  globalSetup: ['testkit/src/database.ts'],
  provide,
  // A few seconds each where nothing else runs.
  testTimeout: 60_000,
  expect,
  hookTimeout: 60_000,
}
const browser = { testTimeout: 180_000, expect, hookTimeout: 120_000 }

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/{actions,concurrency,link}/src/**/*.test.ts',
            'apps/{agent,console}/src/**/*.test.ts',
            'tools/**/*.test.ts',
          ],
          exclude: [SLOW],
          provide,
          testTimeout: 60_000,
          expect,
        },
      },
      {
        test: {
          ...hub,
          name: 'hub',
          include: ['apps/{hub,cli}/src/**/*.test.ts', 'testkit/src/**/*.test.ts'],
          exclude: [SLOW, ...ISOLATED],
          // Loading the hub's modules anew for each file costs a third of the run.
          isolate: false,
          // More than there are cores: most of a test's time is waiting for a hub, a database or a clock.
          maxWorkers: 4,
        },
      },
      { test: { ...hub, name: 'isolated', include: ISOLATED, maxWorkers: 2 } },
      {
        test: {
          ...hub,
          name: 'slow',
          include: [`{apps,packages}/${SLOW}`, 'apps/hub/src/gateway/first-ping.test.ts'],
          provide: { ...provide, replays: 50 },
          fileParallelism: false,
        },
      },
      {
        test: {
          ...browser,
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          exclude: [SLOW],
          // Each file has a hub and a browser of its own.
          maxWorkers: 2,
        },
      },
      { test: { ...browser, name: 'e2e-slow', include: [`e2e/${SLOW}`], fileParallelism: false } },
    ],
  },
})
