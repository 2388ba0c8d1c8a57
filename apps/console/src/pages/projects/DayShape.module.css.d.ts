declare const styles: {
  readonly area: string
  readonly line: string
  readonly shape: string
}
export default styles
