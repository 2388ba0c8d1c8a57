import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'

/** Forks a file of this folder. Resolves to the process and its first message. */
export function forked<Ready>(
  file: string,
  ...options: string[]
): Promise<{ child: ChildProcess; ready: Ready }> {
  const child = fork(join(import.meta.dirname, file), options)
  return new Promise((done, failed) => {
    child.once('exit', code => failed(new Error(`${file} exited with ${code}`)))
    child.once('message', ready => done({ child, ready: ready as Ready }))
  })
}

/**
 * Sends a request to a forked process and resolves to its answer. Answers have no id, so callers must wait for each answer before
 * the next request.
 */
export function ask<Result>(child: ChildProcess, message: object): Promise<Result> {
  return new Promise((done, failed) => {
    const gone = (code: number | null): void => failed(new Error(`the process ended with ${code}`))
    child.once('exit', gone)
    child.once('message', (answer: { result: Result; error?: string }) => {
      child.off('exit', gone)
      if (answer.error) failed(new Error(answer.error))
      else done(answer.result)
    })
    child.send(message)
  })
}

/** Main loop of a forked process: sends a ready message, then one result for each request. */
export function answering<Question>(
  answer: (question: Question) => Promise<unknown>,
  ready: object = {},
): void {
  answerAll(answer)
  process.send!(ready)
}

/** Like answering() without the ready message, for processes whose parent sends requests without waiting for it. */
export function answerAll<Question>(answer: (question: Question) => Promise<unknown>): void {
  process.on('message', (question: Question) => {
    answer(question).then(
      result => process.send!({ result }),
      error => process.send!({ error: String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}

/** Quantile of values in ascending order: the value that `share` of all values do not exceed. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
}
