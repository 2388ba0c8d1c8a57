import { defineConfig } from 'vitest/config'

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
        },
      },
      {
        test: {
          name: 'hub',
          include: ['apps/{hub,cli}/src/**/*.test.ts', 'packages/testkit/src/**/*.test.ts'],
          globalSetup: ['packages/testkit/src/database.ts'],
          // More than there are cores: most of a test's time is waiting for a hub, a database or a clock.
          maxWorkers: 4,
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
