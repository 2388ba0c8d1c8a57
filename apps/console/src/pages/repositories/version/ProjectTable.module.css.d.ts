declare const styles: {
  readonly numbers: string
}
export default styles
