import type { SerializedError, TestCase, TestModule, TestSuite } from 'vitest/node'

/** Outcome of the tests of one project. The first line of a failure names its test, the others give the reason. */
export type Outcome = { passed: number; skipped: string[]; failures: string[] }

/**
 * Reporter for vitest that sends the outcome to the parent process, `tools/test.ts`. Unlike the JSON report of vitest, the outcome
 * contains errors outside of tests, such as a rejected promise without a handler, and tests whose process died.
 */
export default class OutcomeReporter {
  async onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): Promise<void> {
    const tests = modules.flatMap(module => [...module.children.allTests()])
    const outcome: Outcome = {
      passed: tests.filter(test => test.result().state === 'passed').length,
      skipped: tests.filter(test => test.result().state === 'skipped').map(nameOf),
      failures: [
        ...modules.flatMap(failuresOf),
        ...errors.map(error => `outside of tests: ${error.message}\n${reasonOf(error)}`),
      ],
    }
    await new Promise(resolve => process.send!(outcome, resolve))
  }
}

/** Returns the failures of a test file: of its tests, its hooks and its import. */
function failuresOf(module: TestModule): string[] {
  const suites = [module, ...module.children.allSuites()]
  const tests = [...module.children.allTests()].map(test => ({ test, ...test.result() }))
  const failures = [
    ...suites.flatMap(suite => suite.errors().map(error => `${nameOf(suite)}\n${reasonOf(error)}`)),
    ...tests.flatMap(({ test, state, errors }) => {
      if (state === 'pending') return `${nameOf(test)}\nThe test did not end.`
      return state === 'failed' ? `${nameOf(test)}\n${errors!.map(reasonOf).join('\n')}` : []
    }),
  ]
  if (failures.length > 0 || ['passed', 'skipped'].includes(module.state())) return failures
  return [`${nameOf(module)}\nThe file did not run to its end, its state is ${module.state()}.`]
}

function nameOf(part: TestCase | TestSuite | TestModule): string {
  return part.type === 'module' ? part.relativeModuleId : `${part.module.relativeModuleId}: ${part.fullName}`
}

function reasonOf(error: SerializedError): string {
  return error.stack ?? error.message
}
