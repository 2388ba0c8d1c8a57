import { defineConfig } from 'vitest/config'

// What is polled for may take as long as a busy machine takes; a test that waits in vain ends by its own time.
const expect = { poll: { timeout: 25_000 } }

/** They hold bounds of time and memory, which say something only where nothing runs beside them. */
const MEASURED = [
  'apps/hub/src/actions/repositories/sizes.test.ts',
  'apps/hub/src/gateway/{floods,patience}.test.ts',
]
const hub = {
  globalSetup: ['packages/testkit/src/database.ts'],
  // A few seconds each where nothing else runs.
  testTimeout: 60_000,
  expect,
  hookTimeout: 60_000,
}

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/{actions,link}/src/**/*.test.ts',
            'apps/{agent,console}/src/**/*.test.ts',
            'tools/**/*.test.ts',
          ],
          testTimeout: 60_000,
          expect,
        },
      },
      {
        test: {
          ...hub,
          name: 'hub',
          include: ['apps/{hub,cli}/src/**/*.test.ts', 'packages/testkit/src/**/*.test.ts'],
          exclude: MEASURED,
          // More than there are cores: most of a test's time is waiting for a hub, a database or a clock.
          maxWorkers: 4,
        },
      },
      {
        test: { ...hub, name: 'measured', include: MEASURED, fileParallelism: false },
      },
      {
        test: {
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          testTimeout: 180_000,
          expect,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
