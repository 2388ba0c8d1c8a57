declare const styles: {
  readonly zone: string
}
export default styles
