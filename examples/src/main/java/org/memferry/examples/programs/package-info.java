/**
 * Short programs as a DL4J user writes them, each with a {@code main} of its own, on the bundled data:
 * {@code java -cp examples/target/memferry.jar org.memferry.examples.programs.TrainingLoop}.
 */
package org.memferry.examples.programs;
