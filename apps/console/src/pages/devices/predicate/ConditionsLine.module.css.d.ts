declare const styles: {
  readonly actions: string
  readonly any: string
  readonly form: string
  readonly input: string
  readonly join: string
  readonly line: string
  readonly note: string
}
export default styles
