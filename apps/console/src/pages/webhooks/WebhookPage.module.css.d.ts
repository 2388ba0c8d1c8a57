declare const styles: {
  readonly answer: string
  readonly attempts: string
  readonly columns: string
  readonly detail: string
  readonly elsewhere: string
  readonly facts: string
  readonly main: string
  readonly notices: string
  readonly problem: string
  readonly share: string
  readonly steps: string
}
export default styles
