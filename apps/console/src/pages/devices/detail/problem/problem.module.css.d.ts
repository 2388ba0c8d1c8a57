declare const styles: {
  readonly box: string
  readonly icon: string
  readonly main: string
  readonly other: string
  readonly steps: string
}
export default styles
