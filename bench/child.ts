import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'

/** Forks a file of this folder; resolves to the process once it has sent its first message, with that message. */
export function forked<Ready>(
  file: string,
  ...options: string[]
): Promise<{ child: ChildProcess; ready: Ready }> {
  const child = fork(join(import.meta.dirname, file), options)
  return new Promise((done, failed) => {
    child.once('exit', code => failed(new Error(`${file} ended with ${code}`)))
    child.once('message', ready => done({ child, ready: ready as Ready }))
  })
}

/** Sends a message to a load client and resolves to the result that it answers with; one question at a time. */
export function ask<Result>(child: ChildProcess, message: object): Promise<Result> {
  return new Promise((done, failed) => {
    child.once('message', (answer: { result: Result; error?: string }) =>
      answer.error ? failed(new Error(answer.error)) : done(answer.result),
    )
    child.send(message)
  })
}

/** What a load client does: says that it is ready, then gives one answer to each question. */
export function answering<Question>(
  answer: (question: Question) => Promise<unknown>,
  ready: object = {},
): void {
  answerAll(answer)
  process.send!(ready)
}

/** The same without a word at first, for who is asked at once. */
export function answerAll<Question>(answer: (question: Question) => Promise<unknown>): void {
  process.on('message', (question: Question) => {
    answer(question).then(
      result => process.send!({ result }),
      error => process.send!({ error: String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}

/** The value that a share of all values does not exceed, of values in ascending order. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
}
