import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Seed of every fuzz test: fixed here, random in `npm run test:nightly`. */
    fuzzSeed: number
    /** Number of times that `first-ping.test.ts` repeats each exchange, because the order of its frames is random. */
    replays: number
    /** Whether each screen is checked in all sizes and themes (`npm run test:axe`). Otherwise axe checks it in one size and theme only. */
    allLooks: boolean
    /** Whether each screen is only photographed, in both themes and widths (`npm run pictures`). */
    onlyPictures: boolean
  }
}

const provide = {
  fuzzSeed: Number(process.env.MUSTER_FUZZ_SEED ?? 0x5eed),
  replays: 4,
  allLooks: false,
  onlyPictures: false,
}

// 25 s are enough for a polled condition on a busy machine, and less than the timeout of a test.
const expect = { poll: { timeout: 25_000 } }

/**
 * Files for `npm run test:slow`. Their tests measure time or memory on an otherwise idle machine, need other software, or take
 * minutes.
 */
const SLOW = '**/*.slow.test.ts'
/**
 * Tests that take minutes or need other software, but measure neither time nor memory. Other tests on the same machine do not
 * disturb them, so the vitest projects `long`, `outages`, `releases`, `e2e-long` and `e2e-network` run them in parallel. The projects
 * `slow` and `e2e-slow` run the other slow tests one by one.
 */
const LONG = [
  'apps/agent/src/examples.slow.test.ts',
  'apps/hub/src/platform/backup/processes.slow.test.ts',
  'apps/hub/src/platform/bus/nats.slow.test.ts',
  'apps/hub/src/platform/database/server/pgbouncer.slow.test.ts',
  'apps/hub/src/link/gateway/first-ping.test.ts',
  'apps/hub/src/link/gateway/{reverse-proxies,silent-devices}.slow.test.ts',
  'apps/hub/src/platform/http/openapi-conformance.slow.test.ts',
  'apps/hub/src/link/telemetry/lane.slow.test.ts',
  'apps/hub/src/platform/storage/storage.slow.test.ts',
]
/** Tests as those of `LONG` that mostly wait until an outage is over. The vitest project `outages` runs them. */
const OUTAGES = [
  'apps/hub/src/platform/cluster/outage.slow.test.ts',
  'apps/hub/src/platform/operator/failures.slow.test.ts',
]
/**
 * Tests of the hub that the slow part runs, so that the gate stays short: what operators use (commands, backups, the database, nodes,
 * storage, mail, the instance, its log), accounts, what a caller may hold, and the programs of people. The gate keeps what devices and
 * people meet: features, links, actions and routes. Its `registry.test.ts` and `lists.test.ts` also call all actions of accounts and of
 * the instance.
 */
const OPERATION = [
  'apps/cli/src/*.test.ts',
  'apps/hub/src/commands/*.test.ts',
  'apps/hub/src/features/accounts/{administration,canonical-emails,passwords,registration}.test.ts',
  'apps/hub/src/features/accounts/{session,sessions-tokens-invitations,sign-in,views}.test.ts',
  'apps/hub/src/features/instance/*.test.ts',
  'apps/hub/src/link/gateway/peer-generations.test.ts',
  'apps/hub/src/platform/{audit,backup,bus,cluster,credentials,jobs,limits,mail,operator,runtime,storage}/*.test.ts',
  'apps/hub/src/platform/database/fixtures.test.ts',
  'apps/hub/src/platform/database/{client,server}/*.test.ts',
  'apps/hub/src/platform/http/{health,limits}.test.ts',
]
/**
 * Journeys of people through the screens, the texts of the specification, and the states of a screen beyond the usual one. The slow part
 * runs them. The gate opens every screen (`e2e/screens.test.ts`) and keeps the journeys of the list of devices and of administration.
 */
const JOURNEYS = [
  'e2e/{approvals,bulk-labels,enrolment,on-call,people-admin,people-organization,people-public,people-settings}.test.ts',
  'e2e/{device-extras,device-identity,device-list-tools,device-problems,device-rows,device-states,device-views,failed-queries}.test.ts',
  'e2e/{history,keyboard,labels,lists,loading,logs,looks,outside-look,palette,projects-overview,releases}.test.ts',
  'e2e/{repositories,settings-forms,strange-answers,webhooks}.test.ts',
  'e2e/{specification-texts,specified-controls,true-screens}.test.ts',
]
/**
 * Tests of whole hubs and of the browser that run in parallel, as those of `LONG`. `power-loss.slow.test.ts` is not among them: the scratch
 * machines of `releases` would keep its disk mounted.
 */
const E2E_LONG =
  'e2e/{cluster,disk-full,hardening,hub-places,hub-start,journey,odd-answers,rebalance,release,uploads}.slow.test.ts'
/**
 * Tests that add network interfaces. Chromium ends all requests when an interface appears, so `tools/test.ts` runs them in a network of
 * their own.
 */
const NETWORK = 'e2e/half-open.slow.test.ts'
/**
 * Test files that change state of their process. The test files of the vitest project `hub` share processes, so that project
 * excludes these files.
 */
const ISOLATED = ['apps/hub/src/platform/http/tls.test.ts', 'apps/hub/src/link/gateway/tls-sessions.test.ts']

/** Browser tests that check the looks of no screen of their own. */
const WITHOUT_SCREENS = [
  'e2e/{browser,failed-queries,history,hub-start,specification-quotes,specification-texts,strange-answers}.test.ts',
]

/** Test files that take longer than their size suggests. */
const LONGEST = [
  ...[
    'failed-queries',
    'history',
    'hub-start',
    'loading',
    'looks',
    'screens',
    'specification-texts',
    'strange-answers',
  ].map(name => `e2e/${name}.test.ts`),
  'e2e/disk-full.slow.test.ts',
]

/**
 * Starts long test files first, so that no worker is left with one at the end. Without the times of an earlier run, vitest takes the
 * largest files for the longest.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLongest = ({ moduleId }: TestSpecification) => LONGEST.some(path => moduleId.endsWith(`/${path}`))
    const { true: first = [], false: others = [] } = Object.groupBy(await super.sort(files), file =>
      isLongest(file) ? 'true' : 'false',
    )
    return [...first, ...others]
  }
}

const hub = {
  globalSetup: ['testkit/src/database.ts'],
  provide,
  // Each of these tests takes a few seconds on an idle machine. The timeout leaves room for a busy machine.
  testTimeout: 60_000,
  expect,
  hookTimeout: 60_000,
}
const sharedProcesses = {
  ...hub,
  // With isolation, the hub's modules would be loaded again for each file, which costs a third of the run time.
  isolate: false,
  // More workers than cores, because tests mostly wait for a hub, a database or a clock.
  maxWorkers: 6,
}
const browser = {
  globalSetup: ['e2e/first-start.ts'],
  provide,
  testTimeout: 180_000,
  expect,
  hookTimeout: 120_000,
}

// Each file has a hub of its own. The files of a process share a browser and their modules.
const sharedBrowser = { isolate: false, maxWorkers: 3 }

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/{actions,concurrency,csv,link,predicates}/src/**/*.test.ts',
            'apps/{agent,console}/src/**/*.test.ts',
            'tools/**/*.test.ts',
          ],
          exclude: [SLOW],
          provide,
          testTimeout: 60_000,
          expect,
          // Vitest would leave one of two cores idle.
          maxWorkers: 2,
        },
      },
      {
        test: {
          ...sharedProcesses,
          name: 'hub',
          include: ['apps/{hub,cli}/src/**/*.test.ts', 'testkit/src/**/*.test.ts'],
          exclude: [SLOW, ...ISOLATED, ...OPERATION],
        },
      },
      { test: { ...sharedProcesses, name: 'operation', include: OPERATION, exclude: [SLOW] } },
      { test: { ...hub, name: 'isolated', include: ISOLATED, maxWorkers: 2 } },
      {
        test: {
          ...hub,
          name: 'slow',
          include: [`{apps,packages}/${SLOW}`],
          exclude: [...LONG, ...OUTAGES],
          fileParallelism: false,
        },
      },
      {
        test: { ...hub, name: 'long', include: LONG, provide: { ...provide, replays: 50 }, maxWorkers: 1 },
      },
      { test: { ...hub, name: 'outages', include: OUTAGES, maxWorkers: 1 } },
      {
        test: {
          name: 'releases',
          include: [`tools/${SLOW}`],
          provide,
          testTimeout: 60_000,
          expect,
          hookTimeout: 60_000,
          // The first file makes the release that the others use.
          maxWorkers: 1,
        },
      },
      {
        test: {
          ...browser,
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          exclude: [SLOW, ...JOURNEYS],
          ...sharedBrowser,
        },
      },
      { test: { ...browser, name: 'journeys', include: JOURNEYS, ...sharedBrowser } },
      {
        test: {
          ...browser,
          name: 'axe',
          include: ['e2e/**/*.test.ts'],
          exclude: [SLOW, ...WITHOUT_SCREENS, 'e2e/screens.test.ts'],
          provide: { ...provide, allLooks: true },
          testTimeout: 600_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          ...browser,
          name: 'pictures',
          include: ['e2e/**/*.{test,pictures}.ts'],
          exclude: [SLOW, ...WITHOUT_SCREENS, 'e2e/{looks,screens}.test.ts'],
          provide: { ...provide, onlyPictures: true },
          testTimeout: 600_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          ...browser,
          name: 'e2e-slow',
          include: [`e2e/${SLOW}`],
          exclude: [E2E_LONG, NETWORK],
          fileParallelism: false,
        },
      },
      { test: { ...browser, name: 'e2e-long', include: [E2E_LONG], maxWorkers: 2 } },
      { test: { ...browser, name: 'e2e-network', include: [NETWORK], maxWorkers: 1 } },
    ],
  },
})
