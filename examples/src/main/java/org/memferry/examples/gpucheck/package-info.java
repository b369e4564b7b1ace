/** The check of a card: what MemFerry needs of it, measured, and MemFerry's engine on it. Nothing here knows ND4J. */
package org.memferry.examples.gpucheck;
