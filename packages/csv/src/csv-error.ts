/** Why a file cannot be imported. Lines begin with 1; `line` is missing if the whole file is meant. */
export class CsvError extends Error {
  readonly line: number | undefined

  constructor(message: string, line?: number) {
    super(line === undefined ? message : `Line ${line}: ${message}`)
    this.line = line
  }
}
